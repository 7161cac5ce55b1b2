package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ovation/storage"
)

// A part counts as down after so many failures, when so much time has passed
// since the first of them: several calls that one stall lets time out are no
// outage.
const (
	downFailures = 5
	downTime     = time.Second
)

// part is something that may be down. It then costs a call nothing but for a
// trial now and then.
type part struct {
	name    string
	timeout time.Duration // of a call
	opts    FallbackOptions

	mu       sync.Mutex
	failures int       // since the last success
	since    time.Time // the first of them
	down     bool
	trial    time.Time // when the next one may begin
}

var errDown = fmt.Errorf("%w: it was down a moment ago", storage.ErrUnavailable)

// do calls f, unless the part is known to be down. What takes too long, or is
// not tried, is storage.ErrUnavailable.
func (p *part) do(ctx context.Context, f func(context.Context) error) error {
	timeout, err := p.admit()
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = f(within)
	if err != nil && errors.Is(within.Err(), context.DeadlineExceeded) && !errors.Is(err, storage.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		if ctx.Err() == nil { // else the caller was impatient
			p.failed()
		}
	case !errors.Is(err, context.Canceled):
		p.succeeded()
	}
	return err
}

// admit returns how long a call may take.
func (p *part) admit() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		return p.timeout, nil
	}
	now := time.Now()
	if now.Before(p.trial) {
		return 0, errDown
	}
	timeout := min(p.timeout, p.opts.TrialTimeout)
	p.trial = now.Add(timeout + p.opts.BreakerPause) // one at a time
	return timeout, nil
}

func (p *part) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.failures == 0 {
		p.since = now
	}
	p.failures++
	switch {
	case p.down:
		p.trial = now.Add(p.opts.BreakerPause)
	case p.failures >= downFailures && now.Sub(p.since) >= downTime:
		p.down, p.trial = true, now.Add(p.opts.BreakerPause)
		p.opts.Logger.Warn("a part is down and left alone", "part", p.name)
	}
}

func (p *part) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
	if p.down {
		p.down = false
		p.opts.Logger.Info("a part is back", "part", p.name, "down_ms", time.Since(p.since).Milliseconds())
	}
}
