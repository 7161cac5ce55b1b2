package amqp

import (
	"context"
	"errors"
	"fmt"
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
	c := d.share.consumption
	c.settling.RLock()
	defer c.settling.RUnlock()
	if c.ended() {
		return fmt.Errorf("%s: %w", how, worker.ErrSettled)
	}
	c.queue.opts.Metrics.settled(d)
	err := tell()
	d.share.settled()
	if err != nil {
		return fmt.Errorf("%s: %w: %w", how, worker.ErrSettled, err)
	}
	return nil
}
