package amqp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/worker"
)

// workerGroup is a group of workers that share partitions. Messages are published to
// these partitions all the time.
type workerGroup struct {
	t    *testing.T
	opts Options
	all  sync.WaitGroup
	stop context.CancelFunc // ends the publishing

	mu         sync.Mutex
	sent       []string
	settled    map[string]bool
	lastWorker map[int]string // the worker that settled the latest message in each partition
	unsettled  map[int]unsettledCount
	overlap    bool // two workers may hold messages of one partition, because one died
}

// unsettledCount is the number of unsettled messages of one partition and the worker that
// holds them.
type unsettledCount struct {
	worker   string
	messages int
}

// newWorkerGroup returns a group without workers, and publishes to all partitions until
// stop is called or the test ends.
func newWorkerGroup(t *testing.T, opts Options) *workerGroup {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := &workerGroup{
		t: t, opts: opts, stop: stop,
		settled: map[string]bool{}, lastWorker: map[int]string{}, unsettled: map[int]unsettledCount{},
	}
	q := open(t, opts)
	c.all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			for partition := range opts.Partitions {
				id := fmt.Sprintf("%d-%d", partition, i)
				publish(t, q, partition, id) //nolint:contextcheck // a message that was begun is published in full
				c.mu.Lock()
				c.sent = append(c.sent, id)
				c.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { stop(); c.all.Wait() })
	return c
}

// join adds a worker. The returned function cuts this worker's connections.
func (c *workerGroup) join(name string) (die func()) {
	c.t.Helper()
	p, opts := through(c.t, c.opts)
	q := open(c.t, opts)
	deliveries := consume(c.t, q)
	c.all.Go(func() {
		for d := range deliveries {
			batch := []worker.Delivery{d}
			for more := true; more; {
				c.take(name, batch[len(batch)-1])
				select {
				case d, more = <-deliveries:
				default:
					more = false
				}
				if more {
					batch = append(batch, d)
				}
			}
			for _, d := range batch {
				c.settle(name, d)
			}
		}
	})
	c.t.Cleanup(func() { _ = q.Close() })
	return func() {
		c.mu.Lock()
		c.overlap = true
		c.mu.Unlock()
		p.kill()
	}
}

// take counts a message that a worker has received, and checks that no other worker holds
// messages of the same partition.
func (c *workerGroup) take(name string, d worker.Delivery) {
	partition := d.(*delivery).subscription.partition
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.unsettled[partition]
	if has.messages > 0 && has.worker != name && !c.overlap {
		c.t.Errorf("%s received a message of partition %d while %s holds %d, want one consumer at a time", name, partition, has.worker, has.messages)
	}
	c.unsettled[partition] = unsettledCount{name, has.messages + 1}
}

func (c *workerGroup) settle(name string, d worker.Delivery) {
	partition := d.(*delivery).subscription.partition
	c.mu.Lock()
	has := c.unsettled[partition]
	c.unsettled[partition] = unsettledCount{has.worker, has.messages - 1}
	c.mu.Unlock()
	if d.Ack() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastWorker[partition] = name
	c.settled[d.Message().ID] = true
}

// partitionsServed returns the number of partitions that each worker serves.
func (c *workerGroup) partitionsServed() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := map[string]int{}
	for _, name := range c.lastWorker {
		held[name]++
	}
	return held
}

func (c *workerGroup) waitFor(held map[string]int) {
	c.t.Helper()
	await.That(c.t, fmt.Sprintf("the number of partitions of each worker is %v", held), func() bool { return maps.Equal(c.partitionsServed(), held) })
}

func TestPartitionsAreSpreadOverTheWorkers(t *testing.T) {
	opts := options(t)
	opts.Partitions, opts.Prefetch = 8, 10
	c := newWorkerGroup(t, opts)
	dies := c.join("a")
	c.waitFor(map[string]int{"a": 8})
	c.join("b")
	c.waitFor(map[string]int{"a": 4, "b": 4})
	c.join("c")
	await.That(t, "three workers have 2, 3 and 3 partitions", func() bool {
		return slices.Equal(slices.Sorted(maps.Values(c.partitionsServed())), []int{2, 3, 3})
	})
	dies()
	c.waitFor(map[string]int{"b": 4, "c": 4})
	c.stop()
	await.That(t, "everything sent is settled", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !slices.ContainsFunc(c.sent, func(id string) bool { return !c.settled[id] })
	})
}

func TestPartitionIsHandedOverOnceItsMessagesAreSettled(t *testing.T) {
	opts := options(t)
	opts.Partitions = 2
	first, second := open(t, opts), open(t, opts)
	deliveries := consume(t, first)
	held := map[int]worker.Delivery{}
	for partition := range opts.Partitions {
		publish(t, first, partition, fmt.Sprint("held-", partition))
		held[partition] = receive(t, deliveries)
	}
	next := consume(t, second)
	passed := -1
	await.That(t, "one of the partitions is being handed over", func() bool {
		for partition, d := range held {
			if d.(*delivery).subscription.isHandingOver() {
				passed = partition
			}
		}
		return passed >= 0
	})
	publish(t, first, passed, "next")
	if err := held[passed].Ack(); err != nil {
		t.Errorf("Ack of an outstanding message: got %v, want no error", err)
	}
	if d := receive(t, next); d.Message().ID != "next" {
		t.Errorf("the next worker received message %s, want next", d.Message().ID)
	}
	if err := held[1-passed].Ack(); err != nil {
		t.Errorf("Ack in the other partition: got %v, want no error", err)
	}
}
