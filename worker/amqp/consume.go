package amqp

import (
	"context"
	"fmt"
	"sync"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// Consume delivers messages of all partitions. Of several consumers, here and
// in other processes, the broker serves each partition to one at a time and
// passes it on when that one goes away. A consumer holds at most Prefetch
// unsettled messages of each partition.
//
// The channel is closed when the context is done, the connection is lost or
// the Queue is closed; call Consume again for the next. Errors:
// storage.ErrUnavailable, after IOTimeout where the broker is away; worker.ErrClosed.
func (q *Queue) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	q.mu.Lock()
	if !q.closed && !q.consumes {
		q.consumes = true
		q.consuming.start(nil) //nolint:contextcheck // lives until Close
	}
	q.mu.Unlock()
	s, err := q.consuming.ready(ctx, q.closing, q.opts.IOTimeout)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	c := &consumption{
		queue: q, session: s,
		out:  make(chan worker.Delivery, q.opts.Partitions*q.opts.Prefetch),
		over: make(chan struct{}),
		lost: make(chan struct{}, q.opts.Partitions),
	}
	if err := s.within(c.open); err != nil {
		c.finish()
		return nil, fmt.Errorf("consume: RabbitMQ: %w: %w", storage.ErrUnavailable, err)
	}
	if !q.begin(func() { c.run(ctx) }) {
		c.finish()
		return nil, fmt.Errorf("consume: %w", worker.ErrClosed)
	}
	return c.out, nil
}

// consumption is one call of Consume: a channel of one session. When that is
// gone nothing can be settled any more, since a number that named a delivery
// there names another one elsewhere.
type consumption struct {
	queue   *Queue
	session *session
	channel *amqp091.Channel
	out     chan worker.Delivery
	lost    chan struct{} // takes one from each partition that delivers no more

	forwarding sync.WaitGroup // one for each partition

	settling sync.RWMutex // held to settle; closing over waits for it
	over     chan struct{}
}

// open asks the broker for the messages of every partition.
func (c *consumption) open() error {
	opts := c.queue.opts
	channel, err := c.session.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	c.channel = channel
	if err := channel.Qos(opts.Prefetch, 0, false); err != nil {
		return fmt.Errorf("bound the prefetch: %w", err)
	}
	for partition := range opts.Partitions {
		deliveries, err := channel.Consume(opts.queue(partition), "", false, false, false, false, nil)
		if err != nil {
			return fmt.Errorf("consume %s: %w", opts.queue(partition), err)
		}
		c.forwarding.Go(func() { c.forward(partition, deliveries) })
	}
	return nil
}

// run waits for the end.
func (c *consumption) run(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.queue.closing:
	case <-c.lost:
	}
	c.finish()
}

// finish gives back what is unsettled and closes the channel of deliveries.
func (c *consumption) finish() {
	c.settling.Lock()
	close(c.over)
	c.settling.Unlock()
	if c.channel != nil {
		_ = c.session.within(c.channel.Close) // where it fails, the channel is gone already
	}
	c.forwarding.Wait()
	for drained := false; !drained; { // what lies there is in nobody's hands
		select {
		case <-c.out:
		default:
			drained = true
		}
	}
	close(c.out)
	c.queue.opts.Metrics.forget(c)
}

// forward hands on the messages of a partition. There is room for all that the
// broker gives before one is settled, so that it waits for nobody.
func (c *consumption) forward(partition int, deliveries <-chan amqp091.Delivery) {
	for d := range deliveries {
		message, at, err := decode(d.Body)
		got := &delivery{from: c, partition: partition, raw: d, message: message}
		c.queue.opts.Metrics.took(got, at)
		if err != nil {
			c.putAside(got, err)
			continue
		}
		select {
		case c.out <- got:
		case <-c.over:
		}
	}
	c.lost <- struct{}{}
}

// putAside rejects a message that cannot be read.
func (c *consumption) putAside(d *delivery, reason error) {
	logger := c.queue.opts.Logger.With("message", d.raw.MessageId, "partition", d.partition)
	logger.Error("message put aside: it cannot be read", "error", reason)
	if err := d.Reject(reason); err != nil {
		logger.Warn("message not put aside; it will come again", "error", err)
	}
}

// ended reports whether nothing can be settled any more.
func (c *consumption) ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
