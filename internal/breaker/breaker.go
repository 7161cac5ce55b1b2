// Package breaker rejects calls to a dependency that is unavailable, so that not every
// call waits for its timeout.
//
// A Breaker opens when calls have failed for at least a second and either five calls in a
// row have failed or one call has timed out. A short stall in which several calls time
// out together does not open it. When it opens, calls in progress are cancelled (if
// Options.FailingTimeout is set), and later calls are rejected immediately. It closes
// when a trial succeeds. A trial is a call to Probe, or a call that Do lets through from
// time to time.
//
// # Invariants
//
//   - One stall does not open it: TestOneStallDoesNotOpen.
//   - Only a trial closes it: TestOnlyATrialCloses.
//   - No caller waits for a dependency that is known to be unavailable:
//     TestCallsInProgressAreCancelled, TestTrialsAreOneAtATime.
//   - A call that its caller cancels counts neither as a success nor as a failure:
//     TestCancelledCallsDoNotCount.
//   - A dependency counts as available if it answers that a lock is held by another call:
//     TestLockedIsNoFailure.
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
	// MinFailures is how many calls in a row must fail for a Breaker to open, unless one
	// of them times out.
	MinFailures = 5
	// MinOutage is how long calls must have failed for a Breaker to open.
	MinOutage = time.Second
)

// ErrOpen is returned for a call that was rejected. It wraps storage.ErrUnavailable.
var ErrOpen = fmt.Errorf("%w: calls failed a moment ago", storage.ErrUnavailable)

// ErrIgnored is wrapped by errors that do not show whether the dependency is available. A
// call that returns ErrIgnored counts neither as a success nor as a failure.
var ErrIgnored = errors.New("not counted")

// Options configures a Breaker.
type Options struct {
	// Timeout bounds a call.
	Timeout time.Duration
	// FailingTimeout, if shorter than Timeout, bounds calls from a failure until the next
	// success. If it is 0, Timeout bounds all calls, and calls in progress are not
	// cancelled when the breaker opens.
	FailingTimeout time.Duration
	// Pause is the time between two calls that Do lets through as trials while the
	// breaker is open. Trial bounds the duration of these calls. If Pause is 0, only
	// Probe makes trials.
	Pause, Trial time.Duration
	// Changed, if not nil, is called under the breaker's lock when the breaker opens or
	// closes. The argument err is the error that opened the breaker, or nil when the
	// breaker closes. The argument outage is how long calls have failed.
	Changed func(err error, outage time.Duration)
}

// Breaker is safe for concurrent use. The zero value is not valid; see New.
type Breaker struct {
	opts Options

	mu       sync.Mutex
	failures int       // since the last success
	success  time.Time // time of the last success
	since    time.Time // when failures began; never before the last success
	trial    time.Time // when Do may let the next call through, while open
	opened   chan struct{}
	open     bool
	calls    map[*call]struct{} // cancelled when the breaker opens
}

// call is a call in progress.
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

// Failures returns how many calls have failed since the last success.
func (b *Breaker) Failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures
}

// Opened returns a channel that is closed when the breaker opens, and is already closed
// while the breaker is open.
func (b *Breaker) Opened() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened
}

// Do calls f, unless the breaker is open. Errors: ErrOpen if the breaker is open;
// storage.ErrUnavailable if f took too long or the breaker opened in the meantime; the
// error of ctx if the caller cancelled the call; and otherwise the error that f returned.
//
// A call fails if its error is storage.ErrUnavailable but not storage.ErrLocked. A call
// with no error, or with any other error, counts as a success, because the dependency has
// answered. Calls that the caller cancelled, and errors that wrap ErrIgnored, do not
// count.
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

// admit returns the context of a new call, and the call, or ErrOpen if the call is
// rejected. The method run cancels the context.
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
		b.trial = c.began.Add(timeout + b.opts.Pause) // one trial at a time
	case b.opts.FailingTimeout > 0 && b.failures > 0:
		timeout = min(timeout, b.opts.FailingTimeout)
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	if c.cancel = cancel; b.opts.FailingTimeout > 0 && !c.trial {
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

// succeeded records the success of a call. Only a trial closes the breaker: a call that
// began before the breaker opened may have reached a server that never failed.
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
