// Package breaker keeps calls from a dependency that is unavailable, so that an
// outage does not cost each of them its time-out.
//
// A Breaker opens when calls have failed for a second: five in a row, or one
// that took all its time. Calls of one short stall that time out together do not
// open it. Calls under way are then cancelled and later ones are refused at
// once. It closes when a trial succeeds: a call of Probe, or one that Do lets
// through now and then.
//
// # Invariants
//
//   - One stall does not open it: TestOneStallDoesNotOpen.
//   - Only a trial closes it: TestOnlyATrialCloses.
//   - No caller waits for a dependency that is known to be unavailable:
//     TestCallsUnderWayAreCancelled, TestTrialsAreOneAtATime.
//   - What a caller does, says nothing about the dependency:
//     TestCancelledCallsDoNotCount.
//   - A dependency that reports a lock is available: TestLockedIsAnAnswer.
//
// This package imports storage for its errors alone.
package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ovation/storage"
)

const (
	// MinFailures is how many calls in a row have to fail for a Breaker to open.
	MinFailures = 5
	// MinOutage is how long they have to fail for.
	MinOutage = time.Second
)

// ErrOpen is why a call was refused. It is a storage.ErrUnavailable.
var ErrOpen = fmt.Errorf("%w: calls failed a moment ago", storage.ErrUnavailable)

// ErrIgnored is part of an error that says nothing about the dependency, and
// neither does the call then.
var ErrIgnored = errors.New("not counted")

// Options are the time-outs of a Breaker.
type Options struct {
	// Timeout bounds a call.
	Timeout time.Duration
	// Hasty bounds a call after one has failed. Calls under way are cancelled when
	// the breaker opens. With 0, neither.
	Hasty time.Duration
	// Pause is the time between two calls that Do lets through as trials while the
	// breaker is open, and Trial bounds them. With 0, only Probe tries.
	Pause, Trial time.Duration
	// Changed is called, under the breaker's lock, when it opens, with the error that
	// opened it, and when it closes, with how long calls had failed. May be nil.
	Changed func(err error, outage time.Duration)
}

// Breaker is safe for concurrent use. The zero value is not valid; see New.
type Breaker struct {
	opts Options

	mu       sync.Mutex
	failures int       // since the last success
	success  time.Time // the last
	since    time.Time // when failures began: later than success
	trial    time.Time // when Do may let the next call through, while open
	opened   chan struct{}
	open     bool
	calls    map[*call]struct{} // that are cancelled when it opens
}

// call is a call under way.
type call struct {
	began  time.Time
	trial  bool
	cancel context.CancelFunc
}

// New returns a closed Breaker.
func New(opts Options) *Breaker {
	return &Breaker{opts: opts, success: time.Now(), opened: make(chan struct{}), calls: make(map[*call]struct{})}
}

// Err returns ErrOpen while the breaker is open.
func (b *Breaker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return ErrOpen
	}
	return nil
}

// Failures is how many calls have failed since the last success.
func (b *Breaker) Failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures
}

// Opened is closed when the breaker opens; it is closed already while it is open.
func (b *Breaker) Opened() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened
}

// Do calls f, or returns ErrOpen. Errors: what f returns, and
// storage.ErrUnavailable where it took too long or the breaker opened meanwhile; the
// context's where the caller cancelled it. A call fails where its error is
// storage.ErrUnavailable; any other is an answer, and so is storage.ErrLocked.
func (b *Breaker) Do(ctx context.Context, f func(context.Context) error) error {
	within, c, err := b.admit(ctx)
	if err != nil {
		return err
	}
	return b.run(ctx, within, c, f)
}

// Probe calls f as a trial, whether the breaker is open or not.
func (b *Breaker) Probe(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	c := &call{began: time.Now(), trial: true}
	within, cancel := context.WithTimeout(ctx, timeout)
	c.cancel = cancel
	return b.run(ctx, within, c, f)
}

// admit returns a call and its context, which run ends.
func (b *Breaker) admit(ctx context.Context) (context.Context, *call, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &call{began: time.Now(), trial: b.open}
	timeout := b.opts.Timeout
	switch {
	case b.open && (b.opts.Pause == 0 || c.began.Before(b.trial)):
		return nil, nil, ErrOpen
	case b.open:
		timeout = min(timeout, b.opts.Trial)
		b.trial = c.began.Add(timeout + b.opts.Pause) // one at a time
	case b.opts.Hasty > 0 && b.failures > 0:
		timeout = min(timeout, b.opts.Hasty)
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	if c.cancel = cancel; b.opts.Hasty > 0 && !c.trial {
		b.calls[c] = struct{}{}
	}
	return within, c, nil
}

func (b *Breaker) run(ctx, within context.Context, c *call, f func(context.Context) error) error {
	defer c.cancel()
	err := f(within)
	ignored := errors.Is(err, ErrIgnored)
	switch {
	case err == nil || ignored:
	case errors.Is(ctx.Err(), context.Canceled):
		err, ignored = fmt.Errorf("given up by the caller: %w", ctx.Err()), true
	case within.Err() != nil && !errors.Is(err, storage.ErrUnavailable):
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, c)
	switch {
	case ignored:
	case errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrLocked):
		b.failed(c, err, ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded))
	default:
		b.succeeded(c)
	}
	return err
}

func (b *Breaker) failed(c *call, err error, timedOut bool) {
	now := time.Now()
	if b.failures++; b.failures == 1 || c.began.Before(b.since) {
		b.since = later(c.began, b.success)
	}
	switch timedOut = timedOut && !b.success.After(c.began); {
	case b.open:
		b.trial = now.Add(b.opts.Pause)
	case (timedOut || b.failures >= MinFailures) && now.Sub(b.since) >= MinOutage:
		b.open, b.trial = true, now.Add(b.opts.Pause)
		close(b.opened)
		for c := range b.calls {
			c.cancel()
		}
		b.changed(err)
	}
}

// succeeded closes the breaker only for a trial: a call from before it opened may
// have reached a server that never failed.
func (b *Breaker) succeeded(c *call) {
	if b.open && !c.trial {
		return
	}
	if b.open {
		b.open, b.opened = false, make(chan struct{})
		b.changed(nil)
	}
	b.failures, b.success = 0, time.Now()
}

func (b *Breaker) changed(err error) {
	if b.opts.Changed != nil {
		b.opts.Changed(err, time.Since(b.since))
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
