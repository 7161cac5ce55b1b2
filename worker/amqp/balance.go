package amqp

import (
	"fmt"
	"time"
)

// balanceEvery is the time between two looks at how many workers there are.
const balanceEvery = time.Second

// enlist registers this consumption as one of the workers.
func (c *consumption) enlist() error {
	channel, err := c.session.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	c.channel = channel
	q := c.queue
	return c.session.enter(channel, q.opts, q.opts.workers(), func(why error) { q.consuming.giveUp(c.session, why) })
}

// balance begins to pass on what is more than this consumption's share: the
// partitions by the number of workers, rounded up.
//
// The broker keeps the consumers of a partition in a row and serves the first.
// Who passes a partition on goes to the end of that row. Whoever comes next and
// is then served too much passes on as well, so that each partition moves
// along its row until it finds a worker that has room; as the shares add up to
// all partitions at least, there is one, and the moving ends. A partition that
// delivers nothing counts for nobody. Nobody needs to know who else there is,
// and that each partition is served by one, and always by one, remains the
// broker's business.
func (c *consumption) balance() error {
	workers := 0
	err := c.session.within(func() error {
		registered, err := c.channel.QueueDeclarePassive(c.queue.opts.workers(), true, false, false, false, nil)
		workers = registered.Consumers
		return err
	})
	if err != nil {
		return fmt.Errorf("count the workers: %w", err)
	}
	workers = max(workers, 1) // the broker may not know us yet
	fair := (len(c.shares) + workers - 1) / workers
	var served []*share
	for _, s := range c.shares {
		if s.isServed() {
			served = append(served, s)
		}
	}
	c.queue.opts.Metrics.serving.Set(float64(len(served)))
	for _, s := range served[min(fair, len(served)):] {
		s.leave()
	}
	return nil
}

// passOn lets the broker serve the partition to the next consumer in the row,
// and joins the row again at its end.
func (s *share) passOn() error {
	opts := s.consumption.queue.opts
	if err := s.close(); err != nil {
		return fmt.Errorf("pass on partition %d: %w", s.partition, err)
	}
	s.mu.Lock()
	s.served, s.leaving = false, false
	s.mu.Unlock()
	s.order = order{} // nobody holds a message of the old channel
	opts.Logger.Info("partition passed on to another worker", "partition", s.partition)
	return s.consumption.session.within(s.subscribe)
}

// isServed reports whether the broker serves the partition to this consumer, as
// far as known, and will go on to.
func (s *share) isServed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served && !s.leaving
}

func (s *share) isLeaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving
}

// leave hands on no more messages. The partition is passed on when all that
// were handed on are settled: two workers never have messages of one partition.
func (s *share) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	if s.inHand == 0 {
		s.consumption.idle <- s
	}
}

// take notes that a message came and reports whether to hand it on.
func (s *share) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
	if !s.leaving {
		s.inHand++
	}
	return !s.leaving
}

// settled notes that messages that were handed on are settled.
func (s *share) settled(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand -= n
	if s.leaving && s.inHand == 0 {
		s.consumption.idle <- s
	}
}
