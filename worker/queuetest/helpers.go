package queuetest

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/worker"
)

// waitTimeout is how long a test waits for an event that must occur.
const waitTimeout = 2 * time.Minute

// message makes a small valid message.
func message(id string) storage.Message {
	return storage.Message{ID: id, Actions: []storage.Action{{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id},
		Kind:    storage.KindReaction, Reaction: storage.Like, Version: 1,
	}}}
}

// publishing is a call to Publish that may not have returned yet.
type publishing struct {
	done       chan struct{}
	durability storage.Durability
	err        error
}

func publishIn(ctx context.Context, t *trial, partition int, m storage.Message) *publishing {
	p := &publishing{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.durability, p.err = t.q.Publish(ctx, partition, m)
	}()
	return p
}

// publish starts to publish a message. The call is cancelled when the test ends.
func publish(t *trial, partition int, m storage.Message) *publishing {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := publishIn(ctx, t, partition, m)
	t.Cleanup(func() { cancel(); <-p.done })
	return p
}

func (p *publishing) result(t *trial) (storage.Durability, error) {
	t.Helper()
	await(t, "Publish returns", p.done)
	return p.durability, p.err
}

func (p *publishing) succeeds(t *trial) {
	t.Helper()
	durability, err := p.result(t)
	if err != nil || durability != t.durability() {
		t.Fatalf("Publish returned %q, %v; want %q", durability, err, t.durability())
	}
}

// consume starts a consumer that ends with the test.
func consume(t *trial) <-chan worker.Delivery {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	deliveries, err := t.q.Consume(ctx)
	if err != nil {
		t.Fatalf("Consume: %v", err)
	}
	return deliveries
}

func receive(t *trial, deliveries <-chan worker.Delivery) worker.Delivery {
	t.Helper()
	d, _ := receiveFrom(t, deliveries, nil)
	return d
}

// receiveFrom returns the next delivery of either channel and the number of that channel,
// 1 or 2.
func receiveFrom(t *trial, first, second <-chan worker.Delivery) (d worker.Delivery, from int) {
	t.Helper()
	open := false
	select {
	case d, open = <-first:
		from = 1
	case d, open = <-second:
		from = 2
	case <-time.After(waitTimeout):
		t.Fatalf("got no message in %v, want one", waitTimeout)
	}
	if !open {
		t.Fatalf("the channel of consumer %d is closed, want a message", from)
	}
	return d, from
}

func ack(t *trial, d worker.Delivery) {
	t.Helper()
	if err := d.Ack(); err != nil {
		t.Fatalf("ack message %s: %v", d.Message().ID, err)
	}
}

// await waits until the channel is closed.
func await(t *trial, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(waitTimeout):
		t.Fatalf("condition not met within %v: %s", waitTimeout, what)
	}
}

// isClosed waits until the channel is closed, discarding deliveries that are still in it.
func isClosed(t *trial, deliveries <-chan worker.Delivery) {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		select {
		case _, open := <-deliveries:
			if !open {
				return
			}
		case <-late:
			t.Fatalf("the channel of deliveries is still open after %v, want it closed", waitTimeout)
		}
	}
}

// noMoreDeliveries publishes a last message; the test fails unless it is delivered next.
func noMoreDeliveries(t *trial, deliveries <-chan worker.Delivery) {
	t.Helper()
	last := publish(t, 0, message("last"))
	d := receive(t, deliveries)
	if d.Message().ID != "last" {
		t.Errorf("got message %s, want no redelivery of a settled message before \"last\"", d.Message().ID)
	}
	ack(t, d)
	last.succeeds(t)
}
