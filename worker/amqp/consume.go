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

// Consume delivers messages. The broker serves each partition to one consumer
// at a time, of those here and in other processes, and at once to the next
// when that one goes away. Consumers that are served more than their share
// pass partitions on, see balance. A consumer holds at most Prefetch unsettled
// messages of each partition.
//
// The channel is closed when the context is done, the connection is lost or
// the Queue is closed; call Consume again for the next. Errors:
// storage.ErrUnavailable, after IOTimeout where the broker is away; worker.ErrClosed.
func (q *Queue) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	q.startConsuming() //nolint:contextcheck // lives until Close
	s, err := q.consuming.ready(ctx, q.closing, q.opts.IOTimeout)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	c := &consumption{
		queue: q, session: s,
		out:  make(chan worker.Delivery, q.opts.Partitions*q.opts.Prefetch),
		over: make(chan struct{}),
		lost: make(chan struct{}, q.opts.Partitions),
		idle: make(chan *share, q.opts.Partitions),
	}
	if err := c.open(); err != nil {
		c.finish()
		q.consuming.giveUp(s, err) // the next session declares what is missing
		return nil, fmt.Errorf("consume: %s: %w: %w", q.opts.broker(), storage.ErrUnavailable, err)
	}
	if !q.begin(func() { c.run(ctx) }) {
		c.finish()
		return nil, fmt.Errorf("consume: %w", worker.ErrClosed)
	}
	return c.out, nil
}

// consumption is one call of Consume: some channels of one session. When that
// is gone nothing can be settled any more, since a number that named a delivery
// there names another one elsewhere.
type consumption struct {
	queue   *Queue
	session *session
	channel *amqp091.Channel // to count the workers
	shares  []*share         // by partition
	out     chan worker.Delivery
	lost    chan struct{} // takes one from each partition that delivers no more
	idle    chan *share   // takes those to be passed on of which no message is in hand

	settling sync.RWMutex // held to settle; closing over waits for it
	over     chan struct{}
}

// open asks the broker for the messages of every partition.
func (c *consumption) open() error {
	if err := c.session.within(c.enlist); err != nil {
		return err
	}
	for partition := range c.queue.opts.Partitions {
		s := &share{consumption: c, partition: partition}
		c.shares = append(c.shares, s)
		if err := c.session.within(s.subscribe); err != nil {
			return err
		}
	}
	return nil
}

// run balances until the end.
func (c *consumption) run(ctx context.Context) {
	defer c.finish()
	tick := time.NewTicker(balanceEvery)
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
			err = s.passOn()
		}
		if err != nil {
			c.queue.consuming.giveUp(c.session, err)
			return
		}
	}
}

// finish gives back what is unsettled and closes the channel of deliveries.
func (c *consumption) finish() {
	c.settling.Lock()
	close(c.over)
	c.settling.Unlock()
	if c.channel != nil {
		_ = c.session.within(c.channel.Close) // where it fails, the channel is gone already
	}
	for _, s := range c.shares {
		_ = s.close()
	}
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

// ended reports whether nothing can be settled any more.
func (c *consumption) ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// share is a consumption's subscription to one partition, over a channel of its
// own.
type share struct {
	consumption *consumption
	partition   int
	channel     *amqp091.Channel
	forwarding  sync.WaitGroup

	telling sync.Mutex // held to tell the broker what is settled
	order   order      // of the channel

	mu      sync.Mutex
	served  bool // the broker has delivered something: no other consumer is served
	leaving bool // is to be passed on: what comes now is not handed on
	inHand  int  // messages handed on and not settled
}

// subscribe asks the broker for the partition's messages.
func (s *share) subscribe() error {
	c, queue := s.consumption, s.consumption.queue.opts.queue(s.partition)
	channel, err := c.session.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	s.channel = channel
	if err := channel.Qos(c.queue.opts.Prefetch, 0, false); err != nil {
		return fmt.Errorf("bound the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume %s: %w", queue, err)
	}
	s.forwarding.Go(func() { s.forward(deliveries) })
	return nil
}

// close ends the subscription. The broker takes back what is unsettled.
func (s *share) close() (err error) {
	if s.channel != nil {
		err = s.consumption.session.within(s.channel.Close)
	}
	s.forwarding.Wait()
	return err
}

// forward hands on the messages of a partition. There is room for all that the
// broker gives before one is settled, so that it waits for nobody.
func (s *share) forward(deliveries <-chan amqp091.Delivery) {
	c := s.consumption
	for d := range deliveries {
		if !s.take() {
			continue // the broker takes it back when the channel is closed
		}
		message, at, err := decode(d.Body)
		if forced, _ := d.Headers[headerForced].(bool); !forced {
			message.Published = storage.Micros(at)
		}
		got := &delivery{share: s, raw: d, message: message}
		c.queue.opts.Metrics.took(got, at)
		if err != nil {
			s.putAside(got, err)
			continue
		}
		select {
		case c.out <- got:
		case <-c.over:
		}
	}
	if !s.isLeaving() {
		c.lost <- struct{}{}
	}
}

// putAside rejects a message that cannot be read.
func (s *share) putAside(d *delivery, reason error) {
	logger := s.consumption.queue.opts.Logger.With("message", d.raw.MessageId, "partition", s.partition)
	logger.Error("message put aside: it cannot be read", "error", reason)
	if err := d.Reject(reason); err != nil {
		logger.Warn("message not put aside; it will come again", "error", err)
	}
}
