package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"

	"ovation/storage"
	"ovation/worker/queuetest"
)

func TestQueueContract(t *testing.T) {
	for _, opts := range []Options{{}, {Partitions: 4, Prefetch: 7}, {Partitions: 2, Prefetch: 1}} {
		t.Run(fmt.Sprintf("%d partitions, prefetch %d", opts.Partitions, opts.Prefetch), func(t *testing.T) {
			features := queuetest.Features{MaxUnsettled: max(opts.Prefetch, 1)}
			if opts.Prefetch == 0 {
				features.MaxUnsettled = 100
			}
			queuetest.Run(t, features, func(*testing.T) queuetest.Queue { return NewQueue(opts) })
		})
	}
}

func TestAbandonedMessageLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(Options{Capacity: 3})
		defer q.Close()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 5)
		for i := range cap(errs) {
			go func() {
				_, err := q.Publish(ctx, 0, storage.Message{ID: strconv.Itoa(i)})
				errs <- err
			}()
		}
		synctest.Wait()
		if len(q.waiting) != 3 {
			t.Errorf("got %d waiting messages in a queue for 3, want 3", len(q.waiting))
		}
		cancel()
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("Publish: got %v, want %v", err, context.Canceled)
			}
		}
		if len(q.waiting) != 0 || len(q.slots) != 0 {
			t.Errorf("got %d waiting messages and %d used slots, want none", len(q.waiting), len(q.slots))
		}
	})
}

func TestMessagesOfALostConsumerKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(Options{Prefetch: 4})
		defer q.Close()
		for i := range 8 {
			go func() { _, _ = q.Publish(t.Context(), 0, storage.Message{ID: strconv.Itoa(i)}) }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		lost, err := q.Consume(ctx)
		if err != nil {
			t.Fatal(err)
		}
		<-lost
		<-lost
		cancel()
		synctest.Wait()
		deliveries, err := q.Consume(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			d := <-deliveries
			if d.Message().ID != strconv.Itoa(i) || d.Redelivered() != (i < 2) {
				t.Errorf("delivery %d: got message %s, redelivered %t, want %d, redelivered %t", i, d.Message().ID, d.Redelivered(), i, i < 2)
			}
			if err := d.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
