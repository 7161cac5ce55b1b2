package redis

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

// errPartial: some servers do not answer. The others are used.
var errPartial = errors.New("some servers do not answer")

// part is Redis or the database, behind a breaker that polls close.
type part struct {
	*breaker.Breaker

	name   string
	logger *slog.Logger

	mu      sync.Mutex
	lost    time.Time // when it became unavailable
	closed  bool      // the breaker, and the log does not say so yet
	partial bool      // some servers are still unavailable
}

func newPart(name string, timeout, hasty time.Duration, o *Options) *part {
	p := &part{name: name, logger: o.Logger}
	p.Breaker = breaker.New(breaker.Options{Timeout: timeout, Hasty: min(timeout, hasty), Changed: p.changed})
	return p
}

// healthy reports whether calls go through.
func (p *part) healthy() bool { return p.Err() == nil }

// do calls f, unless the breaker is open. Errors: those of breaker.Do.
func (p *part) do(ctx context.Context, what string, f func(context.Context) error) error {
	err := p.Do(ctx, f)
	if err == nil || errors.Is(err, scripts.ErrCached) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// try calls f as a trial. Where it returns errPartial the breaker closes as well.
func (p *part) try(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	var gap error
	err := p.Probe(ctx, timeout, func(ctx context.Context) error {
		if gap = f(ctx); errors.Is(gap, errPartial) {
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

func (p *part) changed(err error, outage time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = err == nil; !p.closed {
		p.lost = time.Now().Add(-outage)
		p.logger.Warn(p.name+" is away", "error", err)
	}
}

// answered logs the end of an outage, also where some servers still do not answer.
func (p *part) answered(gap error) {
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

// inRedis calls Redis. Every error but the caller's going away is
// storage.ErrUnavailable: there is nothing in Redis that the caller could have
// got wrong.
func (s *Store) inRedis(ctx context.Context, what string, f func(context.Context) error) error {
	return s.redis.do(ctx, what, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, scripts.ErrCached) {
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		return err
	})
}
