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

// delivery is a message in the hands of a worker.
type delivery struct {
	share   *share
	raw     amqp091.Delivery
	message storage.Message
	settled atomic.Bool
}

// Message is the message.
func (d *delivery) Message() storage.Message { return d.message }

// Partition is the one that the message was published to.
func (d *delivery) Partition() int { return d.share.partition }

// Redelivered reports whether the broker has delivered the message before.
func (d *delivery) Redelivered() bool { return d.raw.Redelivered }

// Ack takes the message out of the queue.
func (d *delivery) Ack() error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("ack: %w", worker.ErrSettled)
	}
	return d.settle("ack", func() error { return d.raw.Ack(false) })
}

// AckAll takes messages out of the queue: with one word to the broker those of
// a partition before which nothing is unsettled, each other one with a word of
// its own.
func (d *delivery) AckAll(deliveries []worker.Delivery) error {
	var errs []error
	of := make(map[*share][]*delivery)
	for _, one := range deliveries {
		switch ours, is := one.(*delivery); {
		case !is:
			errs = append(errs, one.Ack())
		case !ours.settled.CompareAndSwap(false, true):
			errs = append(errs, fmt.Errorf("ack: %w", worker.ErrSettled))
		default:
			of[ours.share] = append(of[ours.share], ours)
		}
	}
	for s, some := range of {
		errs = append(errs, s.ackAll(some))
	}
	return errors.Join(errs...)
}

// Requeue gives the message back to the broker.
func (d *delivery) Requeue() error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("requeue: %w", worker.ErrSettled)
	}
	return d.settle("requeue", func() error { return d.raw.Nack(false, true) })
}

// Reject puts a copy of the message with the reason into the queue of dead
// letters and then takes the message out of its own. A worker that dies in
// between leaves both. Where the copy cannot be made, the broker itself puts
// the message aside, and the reason is only in the log.
func (d *delivery) Reject(reason error) error {
	if !d.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("reject: %w", worker.ErrSettled)
	}
	err := d.bury(reason)
	if err == nil {
		return d.settle("reject", func() error { return d.raw.Ack(false) })
	}
	if errors.Is(err, worker.ErrClosed) {
		return fmt.Errorf("reject: %w: %w", worker.ErrSettled, err) // it comes again
	}
	d.share.consumption.queue.opts.Logger.Warn("message put aside without its reason",
		"message", d.raw.MessageId, "reason", reason, "error", err)
	return d.settle("reject", func() error { return d.raw.Nack(false, false) })
}

// bury publishes the copy.
func (d *delivery) bury(reason error) error {
	q := d.share.consumption.queue
	if d.share.consumption.ended() {
		return worker.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.opts.IOTimeout)
	defer cancel()
	return q.send(ctx, q.opts.dead(), deadCopy(d.raw, q.opts.queue(d.share.partition), reason, time.Now()))
}

// settle tells the broker, while the consumption lasts. Where that fails the
// session is gone and the message comes again.
func (d *delivery) settle(how string, tell func() error) error {
	return d.share.settle(how, []*delivery{d}, func() error {
		d.share.order.settle(d.raw.DeliveryTag)
		return tell()
	})
}

// ackAll acknowledges deliveries of the partition.
func (s *share) ackAll(deliveries []*delivery) error {
	slices.SortFunc(deliveries, func(a, b *delivery) int { return cmp.Compare(a.raw.DeliveryTag, b.raw.DeliveryTag) })
	return s.settle("ack", deliveries, func() error {
		n := 0
		for n < len(deliveries) && s.order.isNext(deliveries[n].raw.DeliveryTag) {
			s.order.settle(deliveries[n].raw.DeliveryTag)
			n++
		}
		var errs []error
		if n > 0 {
			errs = append(errs, deliveries[n-1].raw.Ack(true))
		}
		for _, d := range deliveries[n:] {
			s.order.settle(d.raw.DeliveryTag)
			errs = append(errs, d.raw.Ack(false))
		}
		return errors.Join(errs...)
	})
}

// settle has the broker told of deliveries.
func (s *share) settle(how string, deliveries []*delivery, tell func() error) error {
	c := s.consumption
	c.settling.RLock()
	defer c.settling.RUnlock()
	if c.ended() {
		return fmt.Errorf("%s: %w", how, worker.ErrSettled)
	}
	for _, d := range deliveries {
		c.queue.opts.Metrics.settled(d)
	}
	s.telling.Lock()
	err := tell()
	s.telling.Unlock()
	s.settled(len(deliveries))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", how, worker.ErrSettled, err)
	}
	return nil
}

// order knows which deliveries of a channel are settled. The broker counts them
// from 1.
type order struct {
	upTo  uint64 // all of these are
	above map[uint64]bool
}

// isNext reports whether all before it are settled.
func (o *order) isNext(tag uint64) bool { return tag == o.upTo+1 }

func (o *order) settle(tag uint64) {
	if o.above == nil {
		o.above = make(map[uint64]bool)
	}
	o.above[tag] = true
	for o.above[o.upTo+1] {
		o.upTo++
		delete(o.above, o.upTo)
	}
}
