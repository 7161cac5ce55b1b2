package amqp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// Consume delivers messages. The broker serves each partition to one consumer at a time
// across all processes, and goes on to the next consumer when the current one ends. A
// consumer that has more than its share of the partitions hands some of them over to the
// others (see balance). A consumer holds at most Prefetch unsettled messages of each
// partition.
//
// The channel is closed when the context ends, the connection is lost or the Queue is
// closed; call Consume again to continue. Errors: storage.ErrUnavailable, after IOTimeout
// if the broker is unavailable; worker.ErrClosed.
func (q *Queue) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	q.startConsuming() //nolint:contextcheck // lives until Close
	b, err := q.consuming.ready(ctx, q.closing, q.opts.IOTimeout)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	c := &consumer{
		queue: q, brokerConn: b,
		out:  make(chan worker.Delivery, q.opts.Partitions*q.opts.Prefetch),
		done: make(chan struct{}),
		lost: make(chan struct{}, q.opts.Partitions),
		idle: make(chan *subscription, q.opts.Partitions),
	}
	if err := c.open(); err != nil {
		c.finish()
		q.consuming.discard(b, err) // the next connection declares missing queues
		return nil, fmt.Errorf("consume: %s: %w: %w", q.opts.broker(), storage.ErrUnavailable, err)
	}
	if !q.startWork(func() { c.run(ctx) }) {
		c.finish()
		return nil, fmt.Errorf("consume: %w", worker.ErrClosed)
	}
	return c.out, nil
}

// consumer is the state of one call to Consume. It uses several channels of one
// connection. Once the connection has ended, nothing can be settled any more, because
// delivery tags are valid only within their channel.
type consumer struct {
	queue         *Queue
	brokerConn    *brokerConn
	channel       *amqp091.Channel // to register and to count the workers
	subscriptions []*subscription  // by partition
	out           chan worker.Delivery
	lost          chan struct{}      // receives one value from each partition that is no longer delivered
	idle          chan *subscription // receives subscriptions to be handed over that have no outstanding message

	settling sync.RWMutex // read-locked while settling, so that finish waits for it
	done     chan struct{}
}

// open subscribes to every partition.
func (c *consumer) open() error {
	if err := c.brokerConn.withTimeout(c.register); err != nil {
		return err
	}
	for partition := range c.queue.opts.Partitions {
		s := &subscription{consumer: c, partition: partition}
		c.subscriptions = append(c.subscriptions, s)
		if err := c.brokerConn.withTimeout(s.subscribe); err != nil {
			return err
		}
	}
	return nil
}

// run balances partitions until the consumer ends.
func (c *consumer) run(ctx context.Context) {
	defer c.finish()
	tick := time.NewTicker(c.queue.opts.balanceEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-c.queue.closing:
			return
		case <-c.lost:
			return
		case <-tick.C:
			err = c.balance()
		case s := <-c.idle:
			err = s.handOver()
		}
		if err != nil {
			c.queue.consuming.discard(c.brokerConn, err)
			return
		}
	}
}

// finish returns unsettled messages to the broker and closes the channel of deliveries.
func (c *consumer) finish() {
	c.settling.Lock()
	close(c.done)
	c.settling.Unlock()
	if c.channel != nil {
		_ = c.brokerConn.withTimeout(c.channel.Close) // an error means that it is closed already
	}
	for _, b := range c.subscriptions {
		_ = b.close()
	}
	for drained := false; !drained; { // deliveries that the worker has not received
		select {
		case <-c.out:
		default:
			drained = true
		}
	}
	close(c.out)
	c.queue.opts.Metrics.forget(c)
}

// ended reports whether deliveries can no longer be settled.
func (c *consumer) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// subscription is the subscription to one partition, on a channel of its own.
type subscription struct {
	consumer   *consumer
	partition  int
	channel    *amqp091.Channel
	forwarding sync.WaitGroup

	ackMu sync.Mutex // held while acknowledging
	acks  ackTracker // of the current channel

	mu          sync.Mutex
	active      bool // the broker has delivered something, so that no other consumer is served
	handingOver bool // to be handed over: further messages are not forwarded
	outstanding int  // messages forwarded and not settled
}

// subscribe opens a channel and consumes the partition's queue.
func (s *subscription) subscribe() error {
	c, queue := s.consumer, s.consumer.queue.opts.queue(s.partition)
	channel, err := c.brokerConn.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	s.channel = channel
	if err := channel.Qos(c.queue.opts.Prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume %s: %w", queue, err)
	}
	s.forwarding.Go(func() { s.forward(deliveries) })
	return nil
}

// close ends the subscription. The broker requeues unsettled messages.
func (s *subscription) close() (err error) {
	if s.channel != nil {
		err = s.consumer.brokerConn.withTimeout(s.channel.Close)
	}
	s.forwarding.Wait()
	return err
}

// forward passes on the messages of a partition. The buffer of the consumer's channel of
// deliveries (out) has room for every message that the broker delivers before any is
// settled, so that forward never blocks.
func (s *subscription) forward(deliveries <-chan amqp091.Delivery) {
	c := s.consumer
	for d := range deliveries {
		if !s.accept() {
			continue // the broker requeues it when the channel is closed
		}
		message, at, err := decode(d.Body)
		if message.Forced, _ = d.Headers[headerForced].(bool); !message.Forced {
			message.Published = storage.Micros(at)
		}
		got := &delivery{subscription: s, raw: d, message: message}
		c.queue.opts.Metrics.received(got, at)
		if err != nil {
			s.deadLetterUnreadable(got, err)
			continue
		}
		select {
		case c.out <- got:
		case <-c.done:
		}
	}
	if !s.isHandingOver() {
		c.lost <- struct{}{}
	}
}

// deadLetterUnreadable rejects a message that cannot be decoded.
func (s *subscription) deadLetterUnreadable(d *delivery, reason error) {
	logger := s.consumer.queue.opts.Logger.With("message", d.raw.MessageId, "partition", s.partition)
	logger.Error("message dead-lettered: it cannot be decoded", "error", reason)
	if err := d.Reject(reason); err != nil {
		logger.Warn("message not dead-lettered; it will be redelivered", "error", err)
	}
}
