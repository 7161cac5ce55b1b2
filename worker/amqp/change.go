package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/worker"
)

// Changed is the result of ChangePartitions.
type Changed struct {
	// From is the previous number of partitions.
	From int
	// Kept is the number of partition queues that are no longer used. They are empty.
	Kept int
}

// A Drain persists the messages of a consumer until the context ends, as worker.Worker
// does.
type Drain func(context.Context, worker.Consumer) error

// ChangePartitions changes the number of partitions to opts.Partitions while publishers
// and workers run. It disconnects them, drains the queues by calling drain, and then
// admits only processes that are configured with the new number. Dead letters are not
// touched.
//
// Partition queues are never deleted, because AMQP does not show whether the broker is
// still moving a dead letter out of a queue that looks empty.
//
// If ChangePartitions fails, the old number remains in effect; if the process is killed
// or RabbitMQ fails, the queues cannot be used until ChangePartitions is run again.
// Errors: storage.ErrUnavailable; the errors that Open returns; an error that states how
// many publishers and workers have not disconnected.
func ChangePartitions(ctx context.Context, opts Options, drain Drain) (Changed, error) {
	c := &change{original: opts, opts: opts.withDefaults(), drain: drain}
	if err := c.opts.validate(); err != nil {
		return Changed{}, err
	}
	changed, err := c.run(ctx)
	if err != nil {
		return changed, fmt.Errorf("%s: change the number of partitions: %w", c.opts.broker(), err)
	}
	return changed, nil
}

// change is one run of ChangePartitions.
type change struct {
	original   Options
	opts       Options // with defaults and the new number
	drain      Drain
	brokerConn *brokerConn
	queues     int // one above the highest number of an existing partition queue
	from       int
}

func (c *change) run(ctx context.Context) (changed Changed, err error) {
	if c.brokerConn, err = dial(ctx, c.opts, "change partitions"); err != nil {
		return changed, err
	}
	defer c.brokerConn.close()
	release := context.AfterFunc(ctx, c.brokerConn.abort) // requests do not accept a context
	defer release()
	if err := c.examine(); err != nil {
		return changed, unlessEnded(ctx, err)
	}
	changed = Changed{From: c.from, Kept: max(0, c.queues-c.opts.Partitions)}
	idle, err := c.unchanged()
	if err != nil || idle {
		return changed, unlessEnded(ctx, err)
	}
	for _, step := range []func(context.Context) error{c.close, c.drainQueues, c.open} {
		if err := step(ctx); err != nil {
			return changed, errors.Join(unlessEnded(ctx, err), c.restore(ctx))
		}
	}
	return changed, nil
}

func unlessEnded(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// examine acquires the lock, and determines the existing queues and the old number of
// partitions.
func (c *change) examine() error {
	if err := c.brokerConn.requireQueues(c.opts); err != nil {
		return err
	}
	if err := c.brokerConn.lock(c.opts); err != nil {
		return fmt.Errorf("acquire the lock: %w", c.opts.explain(c.opts.lock(), err))
	}
	for partition := range maxPartitions {
		lacks, err := c.brokerConn.missing(c.opts.queue(partition))
		if err != nil {
			return fmt.Errorf("look for partition %d: %w", partition, err)
		}
		if !lacks {
			c.queues = partition + 1
		}
	}
	return c.findOld()
}

// findOld determines the old number of partitions by declaring the marker, the queue
// whose length limit is this number, with the new number. If the broker refuses, its
// error contains the existing number. If there is no marker, an earlier run was killed
// right before declaring it, and there is no old number to preserve.
func (c *change) findOld() error {
	err := c.brokerConn.declareAll(c.opts, markerOf(c.opts))
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.PreconditionFailed {
		if c.from = partitionsIn(refused); c.from == 0 {
			return fmt.Errorf("the existing number of partitions cannot be determined: %w", err)
		}
		return nil
	}
	c.from = c.opts.Partitions
	return err
}

func (c *change) remove(queue string) error {
	return c.brokerConn.withChannel(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDelete(queue, false, false, false)
		return err
	})
}

// unchanged reports whether there is nothing to do, because the number of partitions is
// already the new one, the gate is open, and the unused queues are empty.
func (c *change) unchanged() (bool, error) {
	closed, err := c.brokerConn.missing(c.opts.gate())
	if err != nil || closed || c.from != c.opts.Partitions {
		return false, err
	}
	unused, err := c.depth(c.partitions(c.opts.Partitions))
	return unused.Messages == 0, err
}

// close closes the gate (see Options.gate) and waits until every publisher and worker has
// disconnected.
func (c *change) close(ctx context.Context) error {
	if err := c.remove(c.opts.gate()); err != nil {
		return fmt.Errorf("close the gate: %w", err)
	}
	c.opts.Logger.Info("gate closed: publishers and workers disconnect; nodes write directly to Postgres")
	// The partitions are included because a worker of an earlier release consumes
	// without registering.
	return c.awaitDisconnects(ctx, append(c.partitions(0), c.opts.publishers(), c.opts.workers()))
}

// awaitDisconnects waits until the queues have no consumers, for at most leaveTimeout,
// since the broker drops a connection that has been silent for two to three times
// Heartbeat.
func (c *change) awaitDisconnects(ctx context.Context, queues []string) error {
	late := time.After(c.opts.leaveTimeout)
	for {
		d, err := c.depth(queues)
		if err != nil || d.Consumers == 0 {
			return err
		}
		select {
		case <-time.After(drainEvery):
		case <-late:
			return fmt.Errorf("%d publishers or workers have not disconnected within %v: stop them (rabbitmqctl list_consumers lists them)",
				d.Consumers, c.opts.leaveTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drainEvery is the interval at which the queues are polled.
const drainEvery = 100 * time.Millisecond

// drainQueues drains the queues until no partition has a message or a consumer. A quorum
// queue without consumers has no messages that are delivered but not settled.
func (c *change) drainQueues(ctx context.Context) error {
	for {
		if err := c.drainOnce(ctx); err != nil {
			return fmt.Errorf("drain the queues: %w", err)
		}
		if err := c.awaitDisconnects(ctx, c.partitions(0)); err != nil {
			return err
		}
		if d, err := c.depth(c.partitions(0)); err != nil || d.Messages == 0 {
			return err
		}
	}
}

// drainOnce runs a worker until it consumes every partition, no partition has a message
// left and no message is unsettled. It waits for the consumers because they prove that
// the queues respond: the broker also reports a queue as empty if the queue has no
// leader.
func (c *change) drainOnce(ctx context.Context) (err error) {
	opts := c.original
	opts.Partitions, opts.draining = c.queues, true
	opts.Metrics = NewMetrics(nil, worker.Works) // counts unsettled messages
	q, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.drain(working, q) }()
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
		d, err := c.depth(c.partitions(0))
		if err != nil || d == (amqp091.Queue{Consumers: c.queues}) && opts.Metrics.unsettled() == 0 {
			stop()
			return errors.Join(err, <-ended)
		}
	}
}

// partitions returns the names of the partition queues with the given number or a higher
// one.
func (c *change) partitions(from int) (names []string) {
	for partition := from; partition < c.queues; partition++ {
		names = append(names, c.opts.queue(partition))
	}
	return names
}

// depth adds up the ready messages and the consumers of queues. A missing queue has
// neither.
func (c *change) depth(queues []string) (total amqp091.Queue, err error) {
	for _, name := range queues {
		state, _, err := c.brokerConn.state(name)
		if err != nil {
			return total, fmt.Errorf("look at queue %s: %w", name, err)
		}
		total.Messages += state.Messages
		total.Consumers += state.Consumers
	}
	return total, nil
}

// open declares the queues that the new number needs, and opens the gate.
func (c *change) open(ctx context.Context) error {
	opts := c.opts
	opts.draining = true
	if err := c.brokerConn.declareAll(c.opts, opts.usedQueues()...); err != nil {
		return err
	}
	// New queues must survive a crash before anything is confirmed.
	if err := newSupervisedConn("change partitions", c.opts, nil).awaitDurable(ctx); err != nil {
		return err
	}
	return c.reopen(ctx, c.opts.Partitions)
}

// reopen replaces the marker and declares the gate. In between, a connection that found
// the gate open earlier may declare the marker with its own number; that connection is
// not admitted.
func (c *change) reopen(ctx context.Context, partitions int) error {
	opts := c.opts
	opts.Partitions = partitions
	for {
		err := c.brokerConn.declareAll(c.opts, markerOf(opts))
		if refused, is := errors.AsType[*amqp091.Error](err); !is || refused.Code != amqp091.PreconditionFailed {
			if err != nil {
				return err
			}
			break
		}
		if err := errors.Join(ctx.Err(), c.remove(opts.marker())); err != nil {
			return err
		}
	}
	return c.brokerConn.declareAll(c.opts, emptyQueue(opts.gate()))
}

// restore opens the gate with the old number, over a new connection, because the current
// connection may be lost.
func (c *change) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.IOTimeout)
	defer cancel()
	c.brokerConn.close()
	if err := c.restoreOver(ctx); err != nil {
		return fmt.Errorf("run this command again to make the queues usable; until then nodes write directly to Postgres (%w)", err)
	}
	return fmt.Errorf("the number of partitions is still %d, and no message is lost", c.from)
}

func (c *change) restoreOver(ctx context.Context) (err error) {
	if c.brokerConn, err = dial(ctx, c.opts, "change partitions"); err != nil {
		return err
	}
	defer c.brokerConn.close()
	for {
		err := c.brokerConn.lock(c.opts)
		if err == nil {
			return c.reopen(ctx, c.from)
		}
		if !errors.Is(err, errLocked) { // the broker has not closed the other connection yet
			return err
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return err
		}
	}
}
