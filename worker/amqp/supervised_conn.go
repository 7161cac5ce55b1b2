package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// supervisedConn keeps a connection to the broker open. It replaces a connection that is
// lost, with exponential backoff, and has at most one connection at a time.
type supervisedConn struct {
	purpose string
	opts    Options
	prepare func(*brokerConn) error // called for each new connection before it is used
	onTick  func(*brokerConn)       // called every inspectEvery; may be nil
	passive bool                    // never declares queues; connecting fails if they do not exist

	stop    context.CancelFunc
	stopped chan struct{}

	mu      sync.Mutex
	current *brokerConn   // nil while disconnected
	alarm   bool          // the broker blocks publishers
	cleared time.Time     // when the latest alarm ended
	reason  error         // why the connection is lost or blocked; it names the broker
	changed chan struct{} // closed when current, alarm or reason changes
}

// The purposes of a connection.
const (
	toPublish = "publish"
	toConsume = "consume"
	toMeasure = "measure" // queue depths, in processes that do not consume
)

// inspectEvery is the interval at which onTick is called.
const inspectEvery = 5 * time.Second

func newSupervisedConn(purpose string, opts Options, prepare func(*brokerConn) error) *supervisedConn {
	return &supervisedConn{
		purpose: purpose, opts: opts, prepare: prepare,
		stopped: make(chan struct{}), changed: make(chan struct{}),
		reason: fmt.Errorf("%s: not connected yet", opts.broker()),
	}
}

// start supervises the connection in the background until end is called. If first is not
// nil, it is used as the first connection.
func (c *supervisedConn) start(first *brokerConn) {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	if first != nil {
		c.set(first, nil)
	}
	go c.supervise(ctx, first)
}

// end closes the connection and waits until it is closed.
func (c *supervisedConn) end() {
	c.stop()
	<-c.stopped
}

// connect returns a new connection that is prepared for use, after making sure that the
// queues exist.
func (c *supervisedConn) connect(ctx context.Context) (*brokerConn, error) {
	b, err := dial(ctx, c.opts, c.purpose)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.opts.broker(), err)
	}
	release := context.AfterFunc(ctx, b.abort)
	defer release()
	made := false
	if c.passive {
		err = b.requireQueues(c.opts)
	} else {
		made, err = b.declare(c.opts)
	}
	if err == nil && made {
		err = c.awaitDurable(ctx)
	}
	if err == nil {
		err = c.prepare(b)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("%s: %w", c.opts.broker(), err)
	}
	return b, nil
}

// awaitDurable waits until new queues would survive a crash of the broker. The broker
// persists a new queue's messages immediately, but writes the location of the queue's
// data only half a second to a second later. If it crashes in between, confirmed messages
// are lost, and the queue is unusable until it is deleted.
func (c *supervisedConn) awaitDurable(ctx context.Context) error {
	c.opts.Logger.Info("declared the queues in RabbitMQ; waiting until they are durable", "wait_ms", c.opts.durableAfter.Milliseconds())
	select {
	case <-time.After(c.opts.durableAfter):
		return nil
	case <-ctx.Done():
		return storage.Ended(ctx, "wait until new queues are durable")
	}
}

func (c *supervisedConn) supervise(ctx context.Context, b *brokerConn) {
	defer close(c.stopped)
	for {
		if b != nil {
			why := fmt.Errorf("%s: %w", c.opts.broker(), c.watch(ctx, b))
			c.set(nil, why)
			b.close()
			if ctx.Err() != nil {
				return
			}
			c.opts.Logger.Warn("connection to RabbitMQ lost", "purpose", c.purpose, "error", why)
		}
		if b = c.reconnect(ctx, b != nil); b == nil {
			return
		}
		c.set(b, nil)
	}
}

// watch waits until the connection ends and returns the reason, or worker.ErrClosed if
// ctx ends first.
func (c *supervisedConn) watch(ctx context.Context, b *brokerConn) error {
	var tick <-chan time.Time
	if c.onTick != nil {
		ticker := time.NewTicker(inspectEvery)
		defer ticker.Stop()
		tick = ticker.C
		c.onTick(b)
	}
	for {
		select {
		case alarm, open := <-b.alarms:
			if !open {
				b.alarms = nil // b.ended receives the reason
				continue
			}
			c.setAlarm(b, alarm)
		case err := <-b.ended:
			return closeReason(err)
		case <-tick:
			c.onTick(b)
		case <-ctx.Done():
			return worker.ErrClosed
		}
	}
}

// closeReason returns the reason for a closed connection. The client library reports no
// reason if this process closed the connection.
func closeReason(err *amqp091.Error) error {
	if err == nil {
		return errors.New("the connection was closed by this process")
	}
	return err
}

// setAlarm records that the broker blocks or unblocks publishers.
func (c *supervisedConn) setAlarm(b *brokerConn, alarm amqp091.Blocking) {
	var reason error
	if alarm.Active {
		reason = fmt.Errorf("%s: publishing is blocked: %s", c.opts.broker(), alarm.Reason)
		c.opts.Logger.Warn("RabbitMQ blocks publishers because of an alarm", "reason", alarm.Reason)
	} else {
		c.opts.Logger.Info("RabbitMQ accepts messages again")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == b { // otherwise b has been discarded
		if !alarm.Active {
			c.cleared = time.Now()
		}
		c.change(b, alarm.Active, reason)
	}
}

// reconnect tries to connect until it succeeds, or returns nil when ctx ends. It logs the
// first error and each error that differs from the one before.
func (c *supervisedConn) reconnect(ctx context.Context, again bool) *brokerConn {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = c.opts.MinBackoff, c.opts.MaxBackoff, 2
	logged, since := "", time.Now()
	for {
		if again {
			select {
			case <-time.After(wait.NextBackOff()):
			case <-ctx.Done():
				return nil
			}
			c.opts.Metrics.reconnects.WithLabelValues(c.purpose).Inc()
		}
		b, err := c.connect(ctx)
		if err == nil {
			c.opts.Logger.Info("connected to RabbitMQ", "purpose", c.purpose, "after_ms", time.Since(since).Milliseconds())
			return b
		}
		if ctx.Err() != nil {
			return nil
		}
		again = true
		c.set(nil, err)
		if logged != err.Error() {
			logged = err.Error()
			c.opts.Logger.Warn("cannot connect to RabbitMQ; retrying", "purpose", c.purpose, "error", err)
		}
	}
}

func (c *supervisedConn) set(b *brokerConn, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change(b, false, reason)
}

// change replaces the state and wakes the callers of ready. The caller holds c.mu.
func (c *supervisedConn) change(b *brokerConn, alarm bool, reason error) {
	c.current, c.alarm, c.reason = b, alarm, reason
	close(c.changed)
	c.changed = make(chan struct{})
	c.opts.Metrics.connection(c.purpose, b != nil, alarm)
}

// blocked reports whether the broker blocks publishers.
func (c *supervisedConn) blocked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alarm
}

// unblockedFor returns how long the broker has accepted messages without interruption
// since the given time. It is 0 during an alarm.
func (c *supervisedConn) unblockedFor(since time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alarm {
		return 0
	}
	if c.cleared.After(since) {
		since = c.cleared
	}
	return time.Since(since)
}

// ready returns the connection as soon as it can be used. If that takes longer than
// patience, ready returns storage.ErrUnavailable with the reason. It returns earlier with
// an error if ctx ends, and with worker.ErrClosed when closing is closed.
func (c *supervisedConn) ready(ctx context.Context, closing <-chan struct{}, patience time.Duration) (*brokerConn, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		b, alarm, reason, changed := c.current, c.alarm, c.reason, c.changed
		c.mu.Unlock()
		if b != nil && !alarm {
			return b, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, fmt.Errorf("%w: %w", storage.ErrUnavailable, reason) // reason names the broker
		case <-closing:
			return nil, worker.ErrClosed
		case <-ctx.Done():
			return nil, storage.Ended(ctx, "wait for "+c.opts.broker())
		}
	}
}

// discard closes a connection that can no longer be used. Later calls to ready do not
// return it.
func (c *supervisedConn) discard(b *brokerConn, reason error) {
	c.mu.Lock()
	if c.current == b {
		c.change(nil, false, fmt.Errorf("%s: %w", c.opts.broker(), reason))
	}
	c.mu.Unlock()
	b.abort()
}

// disconnect closes the current connection.
func (c *supervisedConn) disconnect() {
	c.mu.Lock()
	b := c.current
	c.mu.Unlock()
	if b != nil {
		b.abort()
	}
}

// connected reports whether there is a connection.
func (c *supervisedConn) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil
}
