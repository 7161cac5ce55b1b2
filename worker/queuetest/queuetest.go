// Package queuetest is the conformance suite of the queue contract in package
// worker. Every queue runs it from a test of its own:
//
//	queuetest.Run(t, queuetest.Features{MaxUnsettled: 100}, func(t *testing.T) queuetest.Queue {
//		return local.NewQueue(local.Options{})
//	})
//
// Each case gets an empty queue, closes it and looks for goroutines that are
// left behind.
//
// This package imports worker and storage and nothing else of this module.
package queuetest

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"

	"ovation/storage"
	"ovation/worker"
)

// Queue is a queue under test, with both of its ends. Close ends all its publishers and
// consumers and may be called twice.
type Queue interface {
	worker.Publisher
	worker.Consumer
	io.Closer
}

// Features describe how a queue behaves where the contract allows several behaviours.
type Features struct {
	// ConfirmsEarly is true if Publish returns storage.Queued as soon as the queue itself
	// has made the message durable. If it is false, Publish waits until a worker settles
	// the message and returns storage.Persisted or worker.ErrRejected.
	ConfirmsEarly bool
	// MaxUnsettled is the maximum number of unsettled messages of a consumer.
	MaxUnsettled int
	// DeadLetters waits until n messages are dead-lettered and returns a map from their
	// ids to the reasons. It is used only if ConfirmsEarly is true.
	DeadLetters func(t *testing.T, q Queue, n int) map[string]string
}

// durability returns what Publish returns for a message that a worker acknowledges.
func (f Features) durability() storage.Durability {
	if f.ConfirmsEarly {
		return storage.Queued
	}
	return storage.Persisted
}

// Run tests one kind of queue. newQueue returns a new, empty queue for each case.
func Run(t *testing.T, features Features, newQueue func(t *testing.T) Queue) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(t *trial)
	}{
		{"MessageArrivesWhole", messageArrivesWhole},
		{"BarriersAndJobsArriveWhole", barriersAndJobsArriveWhole},
		{"DeliveryNamesTheTimeOfPublishing", deliveryNamesTheTimeOfPublishing},
		{"PartitionKeepsItsOrder", partitionKeepsItsOrder},
		{"PartitionHasOneConsumerAtATime", partitionHasOneConsumerAtATime},
		{"UnknownPartitionIsRefused", unknownPartitionIsRefused},
		{"RequeuedMessageIsRedelivered", requeuedMessageIsRedelivered},
		{"MessagesOfALostConsumerAreRedelivered", messagesOfALostConsumerAreRedelivered},
		{"RedeliveryPrecedesLaterMessages", redeliveryPrecedesLaterMessages},
		{"DeliveryIsSettledOnce", deliveryIsSettledOnce},
		{"RepeatedPublishIsHarmless", repeatedPublishIsHarmless},
		{"RejectedMessageIsDeadLettered", rejectedMessageIsDeadLettered},
		{"NothingIsLostWhileConsumersDie", nothingIsLostWhileConsumersDie},
		{"ConsumerHoldsABoundedNumber", consumerHoldsABoundedNumber},
		{"PublishHonoursItsContext", publishHonoursItsContext},
		{"ConsumeHonoursItsContext", consumeHonoursItsContext},
		{"CloseEndsConsumersAndPublishers", closeEndsConsumersAndPublishers},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			q := newQueue(t)
			t.Cleanup(func() {
				if err := q.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			c.test(&trial{T: t, Features: features, q: q})
		})
	}
}

// trial is one run of a case.
type trial struct {
	*testing.T
	Features

	q Queue
}

func messageArrivesWhole(t *trial) {
	want := storage.Message{ID: "whole", Forever: true, Actions: []storage.Action{
		{
			User: storage.User{Tenant: "acme", UserID: "søren ☕"}, Subject: storage.Subject{Tenant: "acme", Biz: "video", BizID: "{1}:2"},
			Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: 1_700_000_000_000_001,
		},
		{
			User: storage.User{Tenant: "acme", UserID: "b"}, Subject: storage.Subject{Tenant: "acme", Biz: "video", BizID: "2"},
			Kind: storage.KindReaction, Reaction: storage.Dislike, Version: 1,
		},
		{
			User: storage.User{Tenant: "acme"}, Subject: storage.Subject{Tenant: "acme", Biz: "video", BizID: "2"},
			Kind: storage.KindRead, Times: 7, First: 3, Version: 1 << 60,
		},
		{
			User: storage.User{Tenant: "acme", UserID: "b"}, Subject: storage.Subject{Tenant: "acme", Biz: "user", BizID: "c"},
			Kind: storage.KindFollow, Following: true, Version: 2,
		},
	}}
	published := publish(t, t.q.Partitions()-1, want)
	d := receive(t, consume(t))
	got := d.Message()
	if got.ID != want.ID || got.Forever != want.Forever || len(got.Actions) != len(want.Actions) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want.Actions {
		if got.Actions[i] != want.Actions[i] {
			t.Errorf("action %d is %+v, want %+v", i, got.Actions[i], want.Actions[i])
		}
	}
	if d.Redelivered() {
		t.Error("the first delivery: got redelivered true, want false")
	}
	ack(t, d)
	published.succeeds(t)
}

func unknownPartitionIsRefused(t *trial) {
	for _, partition := range []int{-1, t.q.Partitions()} {
		if _, err := t.q.Publish(t.Context(), partition, message("lost")); err == nil {
			t.Errorf("Publish to partition %d of %d: got no error, want one", partition, t.q.Partitions())
		}
	}
}

func repeatedPublishIsHarmless(t *trial) {
	first := publish(t, 0, message("twin"))
	second := publish(t, 0, message("twin"))
	deliveries := consume(t)
	ack(t, receive(t, deliveries))
	// A queue may deliver the second message or recognise it as a duplicate.
	marker := publish(t, 0, message("marker"))
	for {
		d := receive(t, deliveries)
		ack(t, d)
		if d.Message().ID == "marker" {
			break
		}
	}
	if !t.ConfirmsEarly {
		// The order of concurrent publishers is not defined: the second message may still
		// come.
		go func() {
			for d := range deliveries {
				_ = d.Ack()
			}
		}()
	}
	first.succeeds(t)
	second.succeeds(t)
	marker.succeeds(t)
}

func rejectedMessageIsDeadLettered(t *trial) {
	reason := errors.New("no such thing as a purple like")
	published := publish(t, 0, message("bad"))
	deliveries := consume(t)
	if err := receive(t, deliveries).Reject(reason); err != nil {
		t.Fatalf("Reject: %v", err)
	}
	if t.ConfirmsEarly {
		published.succeeds(t)
		if got := t.DeadLetters(t.T, t.q, 1); got["bad"] != reason.Error() {
			t.Errorf("dead letters are %v, want bad with its reason", got)
		}
	} else if _, err := published.result(t); !errors.Is(err, worker.ErrRejected) || !errors.Is(err, reason) {
		t.Errorf("Publish returned %v, want ErrRejected with the reason", err)
	}
	noMoreDeliveries(t, deliveries)
}

func publishHonoursItsContext(t *trial) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := t.q.Publish(ctx, 0, message("late")); !errors.Is(err, context.Canceled) {
		t.Errorf("Publish under a cancelled context: got %v, want %v", err, context.Canceled)
	}
	if t.ConfirmsEarly {
		return
	}
	// There is no worker that could settle the message.
	ctx, cancel = context.WithCancel(t.Context())
	published := publishIn(ctx, t, 0, message("waits"))
	cancel()
	if _, err := published.result(t); !errors.Is(err, context.Canceled) {
		t.Errorf("Publish whose context is cancelled: got %v, want %v", err, context.Canceled)
	}
}

func consumeHonoursItsContext(t *trial) {
	ctx, cancel := context.WithCancel(t.Context())
	deliveries, err := t.q.Consume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	isClosed(t, deliveries)
}

func closeEndsConsumersAndPublishers(t *trial) {
	deliveries := consume(t)
	published := publish(t, 0, message("held"))
	held := receive(t, deliveries)
	for range 2 {
		if err := t.q.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	if t.ConfirmsEarly {
		published.succeeds(t)
	} else if _, err := published.result(t); !errors.Is(err, worker.ErrClosed) {
		t.Errorf("the waiting Publish returned %v, want ErrClosed", err)
	}
	isClosed(t, deliveries)
	if err := held.Ack(); !errors.Is(err, worker.ErrSettled) {
		t.Errorf("Ack after Close returned %v, want ErrSettled", err)
	}
	if _, err := t.q.Publish(t.Context(), 0, message("late")); !errors.Is(err, worker.ErrClosed) {
		t.Errorf("Publish after Close returned %v, want ErrClosed", err)
	}
	if _, err := t.q.Consume(t.Context()); !errors.Is(err, worker.ErrClosed) {
		t.Errorf("Consume after Close returned %v, want ErrClosed", err)
	}
}
