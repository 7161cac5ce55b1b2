package local

import (
	"fmt"
	"slices"

	"ovation/storage"
	"ovation/worker"
)

// consumer is the state of one call to Consume. The queue's mutex guards it.
type consumer struct {
	queue     *Queue
	out       chan worker.Delivery
	unsettled map[worker.Delivery]*entry
}

// close requeues all unsettled messages and lets the next consumer continue.
func (c *consumer) close() {
	q := c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for drained := false; !drained; { // deliveries that the consumer has not received
		select {
		case d := <-c.out:
			q.requeue(c.unsettled[d])
			delete(c.unsettled, d)
		default:
			drained = true
		}
	}
	close(c.out)
	for _, e := range c.unsettled {
		e.redelivered = true
		q.requeue(e)
	}
	c.unsettled = nil
	q.consumers = slices.DeleteFunc(q.consumers, func(other *consumer) bool { return other == c })
	q.deliver()
}

// delivery is an entry delivered to a consumer.
type delivery struct {
	consumer    *consumer
	entry       *entry
	redelivered bool
}

// Message returns the message, which must not be changed.
func (d *delivery) Message() storage.Message { return d.entry.message }

// Partition is the partition that the message was published to.
func (d *delivery) Partition() int { return d.entry.partition }

// Redelivered reports whether a consumer has received the message before.
func (d *delivery) Redelivered() bool { return d.redelivered }

// Ack reports to the publisher that the message is persisted.
func (d *delivery) Ack() error {
	return d.settle("ack", func() { d.entry.settled <- nil })
}

// Requeue returns the message to its place in the queue.
func (d *delivery) Requeue() error {
	return d.settle("requeue", func() {
		d.entry.redelivered = true
		d.consumer.queue.requeue(d.entry)
	})
}

// Reject reports to the publisher that the message was rejected, and why.
func (d *delivery) Reject(reason error) error {
	return d.settle("reject", func() { d.entry.settled <- fmt.Errorf("%w: %w", worker.ErrRejected, reason) })
}

// settle calls the given function with the mutex held, unless the delivery is settled
// already.
func (d *delivery) settle(how string, do func()) error {
	q := d.consumer.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, mine := d.consumer.unsettled[d]; !mine {
		return fmt.Errorf("%s: %w", how, worker.ErrSettled)
	}
	delete(d.consumer.unsettled, d)
	do()
	q.deliver()
	return nil
}
