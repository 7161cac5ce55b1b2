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
// since the first of those calls began: several calls that one short stall lets
// time out are no outage.
const (
	downFailures = 5
	downTime     = time.Second
)

// part is something that may be down. It then costs a call nothing but for a
// trial now and then.
type part struct {
	name    string
	timeout time.Duration // of a call
	hasty   bool          // calls are short as soon as one has failed, and given up when the part is down
	opts    FallbackOptions

	mu       sync.Mutex
	failures int       // since the last success
	since    time.Time // when the first of them began
	down     bool
	trial    time.Time          // when the next one may begin
	waiting  map[*call]struct{} // calls under way, given up when the part is down
}

// call is one call of a part.
type call struct {
	began  time.Time
	giveUp context.CancelFunc
}

var errDown = fmt.Errorf("%w: it was down a moment ago", storage.ErrUnavailable)

// do calls f, unless the part is known to be down. What takes too long, or is
// not tried, is storage.ErrUnavailable.
func (p *part) do(ctx context.Context, f func(context.Context) error) error {
	within, c, err := p.admit(ctx)
	if err != nil {
		return err
	}
	err = f(within)
	late := within.Err() != nil && ctx.Err() == nil
	p.leave(c)
	if err != nil && late && !errors.Is(err, storage.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		if ctx.Err() == nil { // else the caller was impatient
			p.failed(c, err)
		}
	case !errors.Is(err, context.Canceled):
		p.succeeded()
	}
	return err
}

// admit returns a context for a call, which leave ends.
func (p *part) admit(ctx context.Context) (context.Context, *call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &call{began: time.Now()}
	timeout := p.timeout
	if p.down || p.hasty && p.failures > 0 {
		timeout = min(timeout, p.opts.TrialTimeout)
	}
	if p.down {
		if c.began.Before(p.trial) {
			return nil, nil, errDown
		}
		p.trial = c.began.Add(timeout + p.opts.BreakerPause) // one at a time
	}
	ctx, c.giveUp = context.WithTimeout(ctx, timeout)
	if p.waiting == nil {
		p.waiting = make(map[*call]struct{})
	}
	p.waiting[c] = struct{}{}
	return ctx, c, nil
}

func (p *part) leave(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.giveUp()
	delete(p.waiting, c)
}

func (p *part) failed(c *call, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.failures == 0 || c.began.Before(p.since) {
		p.since = c.began
	}
	p.failures++
	switch {
	case p.down:
		p.trial = now.Add(p.opts.BreakerPause)
	case p.failures >= downFailures && now.Sub(p.since) >= downTime:
		p.down, p.trial = true, now.Add(p.opts.BreakerPause)
		for other := range p.waiting {
			if p.hasty {
				other.giveUp()
			}
		}
		p.opts.Logger.Warn("a part is down and left alone", "part", p.name, "error", err)
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
