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

// link keeps a connection to the broker up: when one is lost it makes the
// next, after waits that grow. It has one session at a time.
type link struct {
	purpose string
	opts    Options
	prepare func(*session) error // readies a new session
	every   func(*session)       // is called every few seconds, if set by its owner
	looks   bool                 // makes no queues: it is an error where there are none

	stop    context.CancelFunc
	stopped chan struct{}

	mu      sync.Mutex
	current *session      // nil while there is none
	alarm   bool          // the broker takes no messages
	cleared time.Time     // when the latest alarm ended
	reason  error         // why there is none, or the alarm; it names the broker
	changed chan struct{} // closed when current, alarm or reason changes
}

// What a connection is for.
const (
	toPublish = "publish"
	toConsume = "consume"
	toMeasure = "measure" // how much waits, where nothing is consumed
)

// inspectEvery is the time between two calls of link.every.
const inspectEvery = 5 * time.Second

func newLink(purpose string, opts Options, prepare func(*session) error) *link {
	return &link{
		purpose: purpose, opts: opts, prepare: prepare,
		stopped: make(chan struct{}), changed: make(chan struct{}),
		reason: fmt.Errorf("%s: it is not connected yet", opts.broker()),
	}
}

// start supervises until end is called, beginning with the session if there
// is one.
func (l *link) start(first *session) {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	if first != nil {
		l.set(first, nil)
	}
	go l.supervise(ctx, first)
}

// end closes the connection and waits until it is gone.
func (l *link) end() {
	l.stop()
	<-l.stopped
}

// connect makes a session with all queues in place.
func (l *link) connect(ctx context.Context) (*session, error) {
	s, err := dial(ctx, l.opts, l.purpose)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.opts.broker(), err)
	}
	release := context.AfterFunc(ctx, s.abort)
	defer release()
	made := false
	if l.looks {
		err = s.expect(l.opts)
	} else {
		made, err = s.declare(l.opts)
	}
	if err == nil && made {
		err = l.settle(ctx)
	}
	if err == nil {
		err = l.prepare(s)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", l.opts.broker(), err)
	}
	return s, nil
}

// settle waits until queues that were just made outlive a crash. The broker
// keeps a new one's data at once, but writes down half a second late, or a
// whole one, where they are. One that dies before has lost what was confirmed,
// and the queue then answers nobody until it is deleted.
func (l *link) settle(ctx context.Context) error {
	l.opts.Logger.Info("made the queues in RabbitMQ; waiting until they are kept", "wait_ms", l.opts.settle.Milliseconds())
	select {
	case <-time.After(l.opts.settle):
		return nil
	case <-ctx.Done():
		return storage.Ended(ctx, "wait until new queues are kept")
	}
}

func (l *link) supervise(ctx context.Context, s *session) {
	defer close(l.stopped)
	for {
		if s != nil {
			why := fmt.Errorf("%s: %w", l.opts.broker(), l.watch(ctx, s))
			l.set(nil, why)
			s.close()
			if ctx.Err() != nil {
				return
			}
			l.opts.Logger.Warn("connection to RabbitMQ lost", "purpose", l.purpose, "error", why)
		}
		if s = l.reconnect(ctx, s != nil); s == nil {
			return
		}
		l.set(s, nil)
	}
}

// watch returns when the session has ended, and why, or when ctx has.
func (l *link) watch(ctx context.Context, s *session) error {
	var tick <-chan time.Time
	if l.every != nil {
		ticker := time.NewTicker(inspectEvery)
		defer ticker.Stop()
		tick = ticker.C
		l.every(s)
	}
	for {
		select {
		case alarm, open := <-s.alarms:
			if !open {
				s.alarms = nil // the end is told through another channel
				continue
			}
			l.alarmed(s, alarm)
		case err := <-s.ended:
			return lost(err)
		case <-tick:
			l.every(s)
		case <-ctx.Done():
			return worker.ErrClosed
		}
	}
}

// lost makes an error of what the client library says of an end. An end
// without an error is our own doing.
func lost(err *amqp091.Error) error {
	if err == nil {
		return errors.New("the connection was given up")
	}
	return err
}

// alarmed notes that the broker takes no messages, or takes them again.
func (l *link) alarmed(s *session, alarm amqp091.Blocking) {
	var reason error
	if alarm.Active {
		reason = fmt.Errorf("%s: it takes no messages: %s", l.opts.broker(), alarm.Reason)
		l.opts.Logger.Warn("RabbitMQ takes no messages: an alarm is on", "reason", alarm.Reason)
	} else {
		l.opts.Logger.Info("RabbitMQ takes messages again")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == s { // and is not given up
		if !alarm.Active {
			l.cleared = time.Now()
		}
		l.change(s, alarm.Active, reason)
	}
}

// reconnect tries until there is a session, or returns nil when ctx has ended.
// It tells of the first failure and of each that differs from the one before.
func (l *link) reconnect(ctx context.Context, again bool) *session {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = l.opts.MinBackoff, l.opts.MaxBackoff, 2
	told, since := "", time.Now()
	for {
		if again {
			select {
			case <-time.After(wait.NextBackOff()):
			case <-ctx.Done():
				return nil
			}
			l.opts.Metrics.reconnects.WithLabelValues(l.purpose).Inc()
		}
		s, err := l.connect(ctx)
		if err == nil {
			l.opts.Logger.Info("connected to RabbitMQ", "purpose", l.purpose, "after_ms", time.Since(since).Milliseconds())
			return s
		}
		if ctx.Err() != nil {
			return nil
		}
		again = true
		l.set(nil, err)
		if told != err.Error() {
			told = err.Error()
			l.opts.Logger.Warn("no connection to RabbitMQ; trying on", "purpose", l.purpose, "error", err)
		}
	}
}

func (l *link) set(s *session, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change(s, false, reason)
}

// change is set under the lock.
func (l *link) change(s *session, alarm bool, reason error) {
	l.current, l.alarm, l.reason = s, alarm, reason
	close(l.changed)
	l.changed = make(chan struct{})
	l.opts.Metrics.connection(l.purpose, s != nil, alarm)
}

// alarmOn reports whether the broker takes no messages just now.
func (l *link) alarmOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alarm
}

// flowing is how long the broker has been taking messages without a break, at
// most since the given time. It is 0 during an alarm.
func (l *link) flowing(since time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alarm {
		return 0
	}
	if l.cleared.After(since) {
		since = l.cleared
	}
	return time.Since(since)
}

// ready returns the session as soon as it is of use, or after some time
// storage.ErrUnavailable with the reason. It ends earlier with ctx, or with
// worker.ErrClosed when closing is closed.
func (l *link) ready(ctx context.Context, closing <-chan struct{}, patience time.Duration) (*session, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		l.mu.Lock()
		s, alarm, reason, changed := l.current, l.alarm, l.reason, l.changed
		l.mu.Unlock()
		if s != nil && !alarm {
			return s, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, fmt.Errorf("%w: %w", storage.ErrUnavailable, reason) // which names the broker
		case <-closing:
			return nil, worker.ErrClosed
		case <-ctx.Done():
			return nil, storage.Ended(ctx, "wait for "+l.opts.broker())
		}
	}
}

// giveUp ends a session that is of no use any more. Nobody is given it from
// now on.
func (l *link) giveUp(s *session, reason error) {
	l.mu.Lock()
	if l.current == s {
		l.change(nil, false, fmt.Errorf("%s: %w", l.opts.broker(), reason))
	}
	l.mu.Unlock()
	s.abort()
}

// cut gives up the present session.
func (l *link) cut() {
	l.mu.Lock()
	s := l.current
	l.mu.Unlock()
	if s != nil {
		s.abort()
	}
}

// up reports whether there is a session.
func (l *link) up() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil
}
