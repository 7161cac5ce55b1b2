package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// delivery is a delivered message.
type delivery struct {
	subscription *subscription
	raw          amqp091.Delivery
	message      storage.Message
	settled      atomic.Bool
}

// Message returns the decoded message.
func (d *delivery) Message() storage.Message { return d.message }

// Partition is the partition that the message was published to.
func (d *delivery) Partition() int { return d.subscription.partition }

// Redelivered reports whether the broker may have delivered the message before.
func (d *delivery) Redelivered() bool { return d.raw.Redelivered }

// Ack removes the message from the queue.
func (d *delivery) Ack() error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("ack: %w", worker.ErrSettled)
	}
	return d.settle("ack", func() error { return d.raw.Ack(false) })
}

// AckAll removes the messages of several deliveries from the queue. In each partition,
// the deliveries that are next in order are acknowledged together, with one frame. Every
// other delivery is acknowledged with its own frame.
func (d *delivery) AckAll(deliveries []worker.Delivery) error {
	var errs []error
	of := make(map[*subscription][]*delivery)
	for _, one := range deliveries {
		switch ours, is := one.(*delivery); {
		case !is:
			errs = append(errs, one.Ack())
		case !ours.settled.CompareAndSwap(false, true):
			errs = append(errs, fmt.Errorf("ack: %w", worker.ErrSettled))
		default:
			of[ours.subscription] = append(of[ours.subscription], ours)
		}
	}
	for s, some := range of {
		errs = append(errs, s.ackAll(some))
	}
	return errors.Join(errs...)
}

// Requeue returns the message to the broker.
func (d *delivery) Requeue() error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("requeue: %w", worker.ErrSettled)
	}
	return d.settle("requeue", func() error { return d.raw.Nack(false, true) })
}

// Reject publishes a copy of the message with the reason to the dead-letter queue and
// then acknowledges the message. If the process is killed in between, both the message
// and the copy remain. If the copy cannot be published, the broker dead-letters the
// message itself, and the reason is only in the log.
func (d *delivery) Reject(reason error) error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("reject: %w", worker.ErrSettled)
	}
	err := d.deadLetter(reason)
	if err == nil {
		return d.settle("reject", func() error { return d.raw.Ack(false) })
	}
	if errors.Is(err, worker.ErrClosed) {
		return fmt.Errorf("reject: %w: %w", worker.ErrSettled, err) // it will be redelivered
	}
	d.subscription.consumer.queue.opts.Logger.Warn("message dead-lettered without its reason",
		"message", d.raw.MessageId, "reason", reason, "error", err)
	return d.settle("reject", func() error { return d.raw.Nack(false, false) })
}

// deadLetter publishes a copy of the message, with the reason, to the dead-letter queue.
func (d *delivery) deadLetter(reason error) error {
	q := d.subscription.consumer.queue
	if d.subscription.consumer.ended() {
		return worker.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.opts.IOTimeout)
	defer cancel()
	return q.send(ctx, q.opts.dead(), deadCopy(d.raw, q.opts.queue(d.subscription.partition), reason, time.Now()))
}

// settle sends the settlement of the message unless the consumer has ended. If sending
// fails, the connection has ended and the message will be redelivered.
func (d *delivery) settle(how string, send func() error) error {
	return d.subscription.settle(how, []*delivery{d}, func() error {
		d.subscription.acks.settle(d.raw.DeliveryTag)
		return send()
	})
}

// ackAll acknowledges deliveries of the partition.
func (s *subscription) ackAll(deliveries []*delivery) error {
	slices.SortFunc(deliveries, func(a, b *delivery) int { return cmp.Compare(a.raw.DeliveryTag, b.raw.DeliveryTag) })
	return s.settle("ack", deliveries, func() error {
		n := 0
		for n < len(deliveries) && s.acks.isNext(deliveries[n].raw.DeliveryTag) {
			s.acks.settle(deliveries[n].raw.DeliveryTag)
			n++
		}
		var errs []error
		if n > 0 {
			errs = append(errs, deliveries[n-1].raw.Ack(true))
		}
		for _, d := range deliveries[n:] {
			s.acks.settle(d.raw.DeliveryTag)
			errs = append(errs, d.raw.Ack(false))
		}
		return errors.Join(errs...)
	})
}

// settle settles the deliveries by calling send, unless the consumer has ended.
func (s *subscription) settle(how string, deliveries []*delivery, send func() error) error {
	c := s.consumer
	c.settling.RLock()
	defer c.settling.RUnlock()
	if c.ended() {
		return fmt.Errorf("%s: %w", how, worker.ErrSettled)
	}
	for _, d := range deliveries {
		c.queue.opts.Metrics.settled(d)
	}
	s.ackMu.Lock()
	err := send()
	s.ackMu.Unlock()
	s.release(len(deliveries))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", how, worker.ErrSettled, err)
	}
	return nil
}

// ackTracker records which deliveries of a channel are settled. Delivery tags start at
// 1.
type ackTracker struct {
	upTo  uint64 // all tags up to this one are settled
	above map[uint64]bool
}

// isNext reports whether all earlier deliveries are settled.
func (t *ackTracker) isNext(tag uint64) bool { return tag == t.upTo+1 }

func (t *ackTracker) settle(tag uint64) {
	if t.above == nil {
		t.above = make(map[uint64]bool)
	}
	t.above[tag] = true
	for t.above[t.upTo+1] {
		t.upTo++
		delete(t.above, t.upTo)
	}
}
