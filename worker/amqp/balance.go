package amqp

import "fmt"

// register registers this consumer as one of the workers.
func (c *consumer) register() error {
	channel, err := c.brokerConn.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	c.channel = channel
	q := c.queue
	return c.brokerConn.register(channel, q.opts, q.opts.workers(), func(why error) { q.consuming.discard(c.brokerConn, why) })
}

// balance starts to hand over the partitions in excess of this consumer's share, which is
// the number of partitions divided by the number of workers, rounded up.
//
// The broker keeps the consumers of a queue in order and serves the first. A consumer
// that hands a partition over rejoins at the end of that order. If the next consumer then
// has too many partitions, it hands a partition over as well, so that partitions move on
// until they reach a worker with capacity. Such a worker exists, because the shares add
// up to at least the number of partitions, so the handovers come to an end. Partitions
// that have delivered nothing are not counted. Workers need no contact with each other;
// the broker ensures that exactly one consumer serves each partition.
func (c *consumer) balance() error {
	workers := 0
	err := c.brokerConn.withTimeout(func() error {
		registered, err := c.channel.QueueDeclarePassive(c.queue.opts.workers(), true, false, false, false, nil)
		workers = registered.Consumers
		return err
	})
	if err != nil {
		return fmt.Errorf("count the workers: %w", err)
	}
	workers = max(workers, 1) // the broker may not have registered this consumer yet
	fair := (len(c.subscriptions) + workers - 1) / workers
	var served []*subscription
	for _, s := range c.subscriptions {
		if s.isActive() {
			served = append(served, s)
		}
	}
	c.queue.opts.Metrics.serving.Set(float64(len(served)))
	for _, s := range served[min(fair, len(served)):] {
		s.beginHandover()
	}
	return nil
}

// handOver lets the broker serve the partition to the next consumer, and subscribes
// again. This consumer is then the last that the broker would serve.
func (s *subscription) handOver() error {
	opts := s.consumer.queue.opts
	if err := s.close(); err != nil {
		return fmt.Errorf("hand over partition %d: %w", s.partition, err)
	}
	s.mu.Lock()
	s.active, s.handingOver = false, false
	s.mu.Unlock()
	s.acks = ackTracker{} // no message of the old channel is outstanding
	opts.Logger.Info("partition handed over to another worker", "partition", s.partition)
	return s.consumer.brokerConn.withTimeout(s.subscribe)
}

// isActive reports whether the broker, as far as is known, serves the partition to this
// consumer. It returns false while the partition is being handed over.
func (s *subscription) isActive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active && !s.handingOver
}

func (s *subscription) isHandingOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handingOver
}

// beginHandover stops forwarding messages. The partition is handed over when all
// forwarded messages are settled, so that no two workers hold messages of the
// same partition at the same time.
func (s *subscription) beginHandover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handingOver = true
	if s.outstanding == 0 {
		s.consumer.idle <- s
	}
}

// accept records the arrival of a message and reports whether to forward it.
func (s *subscription) accept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = true
	if !s.handingOver {
		s.outstanding++
	}
	return !s.handingOver
}

// release records that n forwarded messages are settled.
func (s *subscription) release(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding -= n
	if s.handingOver && s.outstanding == 0 {
		s.consumer.idle <- s
	}
}
