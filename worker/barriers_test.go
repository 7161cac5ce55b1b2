package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// raiseBarrier raises a barrier in the store and returns its message. No partition has
// passed the barrier yet.
func raiseBarrier(t *testing.T, store *sqlitetest.Database) (barrier storage.Message) {
	t.Helper()
	epoch, err := store.RaiseBarrier(t.Context())
	must.Succeed(t, err)
	return storage.Message{ID: "barrier", Barrier: storage.Barrier{Number: epoch.Barrier, Partitions: 1}}
}

func drained(t *testing.T, store *sqlitetest.Database) bool {
	t.Helper()
	epoch, err := store.Epoch(t.Context())
	must.Succeed(t, err)
	return epoch.Drained
}

func TestBarrierIsPassedWithTheMessagesBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := sqlitetest.OpenDatabase(t), newQueue(t)
		barrier := raiseBarrier(t, store)
		errs := publishAll(t, queue, 3)
		passed := publish(queue, 0, barrier)
		startWorker(t, queue, &hooks{Persister: store, before: func(_ context.Context, messages []storage.Message) error {
			if slices.ContainsFunc(messages, func(m storage.Message) bool { return m.ID == "barrier" }) && len(messages) < 4 {
				t.Errorf("the barrier is passed with a batch of %d messages, want the 3 before it in the same batch", len(messages))
			}
			return nil
		}}, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs)
		must.Succeed(t, <-passed)
		if !drained(t, store) {
			t.Error("the barrier is not passed")
		}
	})
}

// A worker that is stopping requeues a message and still processes the barrier behind it.
// The barrier must not pass.
func TestBarrierWaitsForRequeuedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := sqlitetest.OpenDatabase(t), newQueue(t)
		barrier := raiseBarrier(t, store)
		first := publish(queue, 0, message(0))
		second := publish(queue, 0, barrier)
		ctx, stop := context.WithCancel(t.Context())
		behind := false
		stopping := worker.New(queue, &hooks{Persister: store, before: func(_ context.Context, messages []storage.Message) error {
			switch {
			case len(messages) == 2:
				stop()
				return errBroken // so that each message is tried alone
			case len(messages) == 1 && messages[0].ID == message(0).ID:
				return storage.ErrUnavailable
			}
			behind = true
			return nil
		}}, local.Mirror{Reader: store}, worker.Options{Logger: quiet})
		must.Succeed(t, stopping.Run(ctx))
		if !behind {
			t.Error("the message behind the barrier was not tried: the test proves nothing")
		}
		if drained(t, store) {
			t.Error("the barrier is passed although a message before it is not persisted")
		}
		// After the requeued message is persisted, barriers pass.
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		must.Succeed(t, <-first)
		must.Succeed(t, <-second)
		must.Succeed(t, <-publish(queue, 0, barrier))
		if !drained(t, store) {
			t.Error("the next barrier is not passed")
		}
	})
}

// A redelivered barrier does not pass, because it may have overtaken messages that were
// requeued earlier.
func TestRedeliveredBarrierIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := sqlitetest.OpenDatabase(t), newQueue(t)
		barrier := raiseBarrier(t, store)
		first := publish(queue, 0, barrier)
		ctx, leave := context.WithCancel(t.Context())
		deliveries, err := queue.Consume(ctx)
		must.Succeed(t, err)
		must.Succeed(t, (<-deliveries).Requeue())
		leave()
		synctest.Wait()
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		must.Succeed(t, <-first)
		if drained(t, store) {
			t.Error("a barrier that was redelivered is passed")
		}
		must.Succeed(t, <-publish(queue, 0, barrier))
		if !drained(t, store) {
			t.Error("the next barrier is not passed")
		}
	})
}

// A barrier that cannot be persisted is acknowledged, not dead-lettered, because barriers
// are published until they pass.
func TestBarrierThatFailsIsNotRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := sqlitetest.OpenDatabase(t), newQueue(t)
		barrier := raiseBarrier(t, store)
		startWorker(t, queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error { return errBroken }},
			local.Mirror{Reader: store}, worker.Options{})
		must.Succeed(t, <-publish(queue, 0, barrier))
		if drained(t, store) {
			t.Error("the failing barrier is passed")
		}
	})
}

func TestBarriersArePublishedUntilTheyArePassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirming := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return storage.Queued, nil })
		published := &tap{Publisher: confirming, partitions: 3}
		var due atomic.Int64
		barriers := worker.NewBarriers(published, due.Load, worker.Options{Logger: quiet})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			barriers.Run(ctx)
		}()
		want := func(what string, n int, number int64) {
			t.Helper()
			synctest.Wait()
			got := published.seen()
			if len(got) != n {
				t.Fatalf("%s: got %d barriers published, want %d", what, len(got), n)
			}
			for i, m := range got[max(0, n-3):] {
				if m.Barrier != (storage.Barrier{Number: number, Partition: i, Partitions: 3}) || m.Validate() != nil {
					t.Errorf("%s: published %+v, want barrier %d of partition %d", what, m, number, i)
				}
			}
		}
		time.Sleep(time.Minute)
		want("none is due", 0, 0)
		due.Store(7)
		time.Sleep(time.Second)
		want("one is due", 3, 7)
		time.Sleep(3 * time.Second)
		want("it is still due", 6, 7)
		due.Store(8)
		time.Sleep(time.Second)
		want("the next is due", 9, 8)
		due.Store(0)
		time.Sleep(time.Minute)
		want("none is due any more", 9, 8)
		stop()
		<-ended
	})
}

// Barriers that could not be published are published once the queue is available again.
func TestBarriersWaitForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures, published := 0, 0
		queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) {
			if failures++; failures <= 5 {
				return "", errors.Join(errBroken, storage.ErrUnavailable)
			}
			published++
			return storage.Queued, nil
		})
		barriers := worker.NewBarriers(queue, func() int64 { return 1 }, worker.Options{Logger: quiet})
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		barriers.Run(ctx)
		if published != 1 {
			t.Errorf("got %d barriers published, want 1", published)
		}
	})
}
