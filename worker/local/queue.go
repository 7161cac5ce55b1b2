package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"ovation/storage"
	"ovation/worker"
)

// Options configure a Queue. The zero value is a good choice.
type Options struct {
	// Partitions is the number of partitions; 1 if 0. More partitions allow a recorder
	// to have more messages in the queue at a time, and have no other effect.
	Partitions int
	// Capacity is the maximum number of messages being published; 1,000 if 0. Further
	// calls to Publish wait.
	Capacity int
	// Prefetch is the maximum number of unsettled messages of a consumer; 100 if 0.
	Prefetch int
}

// Queue delivers messages to one consumer at a time, in the order of publication. Other
// consumers wait until that consumer ends.
type Queue struct {
	opts    Options
	slots   chan struct{} // holds a token for each Publish
	closing chan struct{} // closed by Close

	mu        sync.Mutex
	closed    bool
	last      uint64   // sequence number of the newest message
	waiting   []*entry // in the order of their numbers
	consumers []*consumer
	serving   sync.WaitGroup // one for each consumer
}

var (
	_ worker.Publisher = (*Queue)(nil)
	_ worker.Consumer  = (*Queue)(nil)
)

// entry is a message that no consumer has acknowledged or rejected yet.
type entry struct {
	message     storage.Message
	partition   int
	number      uint64
	redelivered bool
	settled     chan error // receives the result without blocking
}

// NewQueue returns an empty queue. Call Close when it is no longer needed.
func NewQueue(opts Options) *Queue {
	opts.Partitions = cmp.Or(opts.Partitions, 1)
	opts.Capacity = cmp.Or(opts.Capacity, 1000)
	opts.Prefetch = cmp.Or(opts.Prefetch, 100)
	return &Queue{opts: opts, slots: make(chan struct{}, opts.Capacity), closing: make(chan struct{})}
}

// Partitions is the number of partitions.
func (q *Queue) Partitions() int { return q.opts.Partitions }

// Publish returns storage.Persisted when a worker has acknowledged the message. If the
// context ends first, a message that has not been delivered is withdrawn. Errors:
// worker.ErrRejected with the worker's reason, worker.ErrClosed, the context's error.
func (q *Queue) Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error) {
	if partition < 0 || partition >= q.opts.Partitions {
		return "", fmt.Errorf("publish: there is no partition %d of %d", partition, q.opts.Partitions)
	}
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	case <-q.closing:
		return "", fmt.Errorf("publish: %w", worker.ErrClosed)
	case <-ctx.Done():
		return "", fmt.Errorf("publish: wait for room in the queue: %w", ctx.Err())
	}
	e := &entry{message: message, partition: partition, settled: make(chan error, 1)}
	if err := q.add(e); err != nil {
		return "", err
	}
	select {
	case err := <-e.settled:
		if err != nil {
			return "", err
		}
		return storage.Persisted, nil
	case <-q.closing:
		return "", fmt.Errorf("publish: wait for a worker: %w", worker.ErrClosed)
	case <-ctx.Done():
		q.withdraw(e)
		return "", fmt.Errorf("publish: wait for a worker: %w", ctx.Err())
	}
}

// Consume delivers messages until the context is done or the queue is closed.
// It returns worker.ErrClosed after Close.
func (q *Queue) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, fmt.Errorf("consume: %w", worker.ErrClosed)
	}
	c := &consumer{
		queue:     q,
		out:       make(chan worker.Delivery, q.opts.Prefetch),
		unsettled: make(map[worker.Delivery]*entry),
	}
	q.consumers = append(q.consumers, c)
	q.deliver()
	q.serving.Go(func() {
		select {
		case <-ctx.Done():
		case <-q.closing:
		}
		c.close()
	})
	return c.out, nil
}

// Close makes all calls to Publish return worker.ErrClosed, closes the channels of the
// consumers and waits until that is done. It may be called twice.
func (q *Queue) Close() error {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
	q.mu.Unlock()
	q.serving.Wait()
	return nil
}

func (q *Queue) add(e *entry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("publish: %w", worker.ErrClosed)
	}
	q.last++
	e.number = q.last
	q.waiting = append(q.waiting, e)
	q.deliver()
	return nil
}

// withdraw removes the entry, unless it has been delivered.
func (q *Queue) withdraw(e *entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i, found := q.find(e); found {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
}

// requeue puts the entry back so that the queue stays in the order of the entries'
// numbers. The caller holds the mutex.
func (q *Queue) requeue(e *entry) {
	i, _ := q.find(e)
	q.waiting = slices.Insert(q.waiting, i, e)
}

func (q *Queue) find(e *entry) (int, bool) {
	return slices.BinarySearchFunc(q.waiting, e.number, func(w *entry, number uint64) int {
		return cmp.Compare(w.number, number)
	})
}

// deliver delivers messages to the first consumer, up to Prefetch. The caller holds the
// mutex. deliver never blocks: the channel has room for all unsettled messages.
func (q *Queue) deliver() {
	if q.closed || len(q.consumers) == 0 {
		return
	}
	c := q.consumers[0]
	for len(q.waiting) > 0 && len(c.unsettled) < q.opts.Prefetch {
		e := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		d := &delivery{consumer: c, entry: e, redelivered: e.redelivered}
		c.unsettled[d] = e
		c.out <- d
	}
}
