package dependency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/breaker"
	"ovation/storage"
	"ovation/storage/redis/internal/scripts"
)

// ErrPartial says that some servers do not answer. The others are used.
var ErrPartial = errors.New("some servers do not answer")

// Part is Redis or the database, behind a breaker that polls close.
type Part struct {
	*breaker.Breaker

	name   string
	logger *slog.Logger

	mu      sync.Mutex
	lost    time.Time // when it became unavailable
	closed  bool      // the breaker, and the log does not say so yet
	partial bool      // some servers are still unavailable
}

// NewPart returns a Part. A call may take timeout, and hasty once calls fail.
func NewPart(name string, timeout, hasty time.Duration, logger *slog.Logger) *Part {
	p := &Part{name: name, logger: logger}
	p.Breaker = breaker.New(breaker.Options{Timeout: timeout, Hasty: min(timeout, hasty), Changed: p.changed})
	return p
}

// Healthy reports whether calls go through.
func (p *Part) Healthy() bool { return p.Err() == nil }

// Run calls f, unless the breaker is open. Errors: those of breaker.Do.
func (p *Part) Run(ctx context.Context, what string, f func(context.Context) error) error {
	err := p.Do(ctx, f)
	if err == nil || errors.Is(err, scripts.ErrCached) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Try calls f as a trial. Where it returns errPartial the breaker closes as well.
func (p *Part) Try(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	var gap error
	err := p.Probe(ctx, timeout, func(ctx context.Context) error {
		if gap = f(ctx); errors.Is(gap, ErrPartial) {
			return nil
		}
		return gap
	})
	if err != nil {
		return err
	}
	p.answered(gap)
	return gap
}

func (p *Part) changed(err error, outage time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = err == nil; !p.closed {
		p.lost = time.Now().Add(-outage)
		p.logger.Warn(p.name+" is away", "error", err)
	}
}

// answered logs the end of an outage, also where some servers still do not answer.
func (p *Part) answered(gap error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch after := time.Since(p.lost).Milliseconds(); {
	case p.closed && gap != nil:
		p.logger.Warn(p.name+" is back in part", "after_ms", after, "error", gap)
		p.partial = true
	case gap == nil && (p.closed || p.partial):
		p.logger.Info(p.name+" is back", "after_ms", after)
		p.partial = false
	}
	p.closed = false
}

// Call is do, for a dependency whose every error means that it is unavailable:
// there is nothing in it that the caller could have got wrong.
func (p *Part) Call(ctx context.Context, what string, f func(context.Context) error) error {
	return p.Run(ctx, what, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, scripts.ErrCached) {
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		return err
	})
}
