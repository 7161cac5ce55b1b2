package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/worker"
)

// Changed is what ChangePartitions did.
type Changed struct {
	// From is how many partitions there were.
	From int
	// Kept is how many partition queues are left that are not used any more. They
	// are empty.
	Kept int
}

// A Drain persists what a consumer delivers until its context ends, as a
// worker.Worker does.
type Drain func(context.Context, worker.Consumer) error

// ChangePartitions gives the queues the number of partitions of the options,
// while publishers and workers run: it shuts them out until they are opened with
// the new number, has everything that is queued persisted, and lets in those with
// the new number. Dead letters stay where they are.
//
// No queue that has ever held a message is deleted: AMQP cannot tell whether the
// broker still moves a dead letter out of a queue that looks empty.
//
// Where it fails, the old number holds again; where it is killed or RabbitMQ fails,
// nobody can use the queues until it has run again. Errors:
// storage.ErrUnavailable; those of Open; a publisher or worker that does not leave.
func ChangePartitions(ctx context.Context, opts Options, drain Drain) (Changed, error) {
	c := &change{given: opts, opts: opts.withDefaults(), drain: drain}
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
	given   Options
	opts    Options // with the new number and all defaults
	drain   Drain
	session *session
	queues  int // partition queues there are: all below this number, at least
	from    int
}

func (c *change) run(ctx context.Context) (changed Changed, err error) {
	if c.session, err = dial(ctx, c.opts, "change partitions"); err != nil {
		return changed, err
	}
	defer c.session.close()
	release := context.AfterFunc(ctx, c.session.abort) // requests know no context
	defer release()
	if err := c.examine(); err != nil {
		return changed, unlessEnded(ctx, err)
	}
	changed = Changed{From: c.from, Kept: max(0, c.queues-c.opts.Partitions)}
	idle, err := c.unchanged()
	if err != nil || idle {
		return changed, unlessEnded(ctx, err)
	}
	for _, step := range []func(context.Context) error{c.close, c.empty, c.open} {
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

// examine takes the lock and finds out what there is.
func (c *change) examine() error {
	if err := c.session.expect(c.opts); err != nil {
		return err
	}
	if err := c.session.lock(c.opts); err != nil {
		return fmt.Errorf("take the lock: %w", c.opts.explain(c.opts.lock(), err))
	}
	for partition := range maxPartitions {
		lacks, err := c.session.lacks(c.opts.queue(partition))
		if err != nil {
			return fmt.Errorf("look for partition %d: %w", partition, err)
		}
		if !lacks {
			c.queues = partition + 1
		}
	}
	return c.findOld()
}

// findOld finds the old number by asking for the new one: the broker refuses it and
// tells what there is. Where there is no marker, a run before was killed that was
// about to make it, and there is no old number to keep.
func (c *change) findOld() error {
	err := c.session.make(c.opts, markerOf(c.opts))
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.PreconditionFailed {
		if c.from = partitionsIn(refused); c.from == 0 {
			return fmt.Errorf("the number that there is cannot be read: %w", err)
		}
		return nil
	}
	c.from = c.opts.Partitions
	return err
}

func (c *change) remove(queue string) error {
	return c.session.with(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDelete(queue, false, false, false)
		return err
	})
}

// unchanged reports whether there is nothing to do: the number is the new one, the
// gate is open and nothing lies in queues that are not used.
func (c *change) unchanged() (bool, error) {
	closed, err := c.session.lacks(c.opts.gate())
	if err != nil || closed || c.from != c.opts.Partitions {
		return false, err
	}
	unused, err := c.depth(c.partitions(c.opts.Partitions))
	return unused.Messages == 0, err
}

// close closes the gate and waits until every publisher and worker has left.
func (c *change) close(ctx context.Context) error {
	if err := c.remove(c.opts.gate()); err != nil {
		return fmt.Errorf("close the gate: %w", err)
	}
	c.opts.Logger.Info("publishers and workers are shut out; nodes persist straight to Postgres")
	// What consumes a partition and is not registered is no worker of this release.
	return c.left(ctx, append(c.partitions(0), c.opts.publishers(), c.opts.workers()))
}

// leaveTimeout is how long publishers and workers may take to leave. The broker
// drops a connection that is silent for two heartbeats, or three.
func (o Options) leaveTimeout() time.Duration { return 6 * o.Heartbeat }

// left waits until queues have no consumers.
func (c *change) left(ctx context.Context, queues []string) error {
	late := time.After(c.opts.leaveTimeout())
	for {
		d, err := c.depth(queues)
		if err != nil || d.Consumers == 0 {
			return err
		}
		select {
		case <-time.After(drainEvery):
		case <-late:
			return fmt.Errorf("%d consumers of publishers or workers do not leave within %v: stop them (rabbitmqctl list_consumers names them)",
				d.Consumers, c.opts.leaveTimeout())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drainEvery is the time between two looks at the queues.
const drainEvery = 100 * time.Millisecond

// empty has everything persisted that is queued. It returns once no partition has
// a message or a consumer: in the state of a quorum queue, messages that were
// delivered and not settled belong to one of its consumers.
func (c *change) empty(ctx context.Context) error {
	for {
		if err := c.drainOnce(ctx); err != nil {
			return fmt.Errorf("drain the queues: %w", err)
		}
		if err := c.left(ctx, c.partitions(0)); err != nil {
			return err
		}
		if d, err := c.depth(c.partitions(0)); err != nil || d.Messages == 0 {
			return err
		}
	}
}

// drainOnce runs a worker until it consumes every partition, none has a message left,
// and none is in its hands. That it consumes proves that the queues answer: of one
// without a leader the broker says that it is empty.
func (c *change) drainOnce(ctx context.Context) (err error) {
	opts := c.given
	opts.Partitions, opts.draining = c.queues, true
	opts.Metrics = NewMetrics(nil, Consumes) // which count what is in its hands
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

// partitions are the names of the partition queues from one on.
func (c *change) partitions(from int) (names []string) {
	for partition := from; partition < c.queues; partition++ {
		names = append(names, c.opts.queue(partition))
	}
	return names
}

// depth adds up the messages that queues have ready, and their consumers. A queue
// that is missing has none.
func (c *change) depth(queues []string) (total amqp091.Queue, err error) {
	for _, name := range queues {
		err := c.session.with(func(channel *amqp091.Channel) error {
			state, err := channel.QueueDeclarePassive(name, true, false, false, false, nil)
			total.Messages += state.Messages
			total.Consumers += state.Consumers
			return err
		})
		if refused, is := errors.AsType[*amqp091.Error](err); err != nil && (!is || refused.Code != amqp091.NotFound) {
			return total, fmt.Errorf("look at queue %s: %w", name, err)
		}
	}
	return total, nil
}

// open makes the queues that the new number needs, and opens the gate.
func (c *change) open(ctx context.Context) error {
	opts := c.opts
	opts.draining = true
	if err := c.session.make(c.opts, opts.used()...); err != nil {
		return err
	}
	// New queues must outlive a crash before anything is confirmed.
	if err := newLink("change partitions", c.opts, nil).settle(ctx); err != nil {
		return err
	}
	return c.reopen(ctx, c.opts.Partitions)
}

// reopen replaces the marker and makes the gate. A session that saw the gate open
// and looks at the marker only now may make it in between, with its own number; it
// is not let in.
func (c *change) reopen(ctx context.Context, partitions int) error {
	opts := c.opts
	opts.Partitions = partitions
	for {
		err := c.session.make(c.opts, markerOf(opts))
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
	return c.session.make(c.opts, holdsNothing(opts.gate()))
}

// restore opens the gate with the old number, over a connection of its own: the other
// one may be lost.
func (c *change) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.IOTimeout)
	defer cancel()
	c.session.close()
	if err := c.restoreOver(ctx); err != nil {
		return fmt.Errorf("the queues can be used again when this has been run to its end; meanwhile nodes persist straight to Postgres (%w)", err)
	}
	return fmt.Errorf("there are %d partitions, as before, and nothing is lost", c.from)
}

func (c *change) restoreOver(ctx context.Context) (err error) {
	if c.session, err = dial(ctx, c.opts, "change partitions"); err != nil {
		return err
	}
	defer c.session.close()
	for {
		err := c.session.lock(c.opts)
		if err == nil {
			return c.reopen(ctx, c.from)
		}
		if !errors.Is(err, errLocked) { // as it is until the broker has closed the other connection
			return err
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return err
		}
	}
}
