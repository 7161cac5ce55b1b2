package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/storage"
)

// errGone: the caller went away. It says nothing of what was called.
var errGone = errors.New("the caller went away")

// errCached: the client's own cache has answered. That says nothing either.
var errCached = errors.New("answered from the cache")

// part is something that may be away. It then costs a call nothing: the polls
// find out when it is back.
type part struct {
	name    string
	timeout time.Duration // of a call
	hasty   time.Duration // of a call while calls fail
	logger  *slog.Logger

	mu       sync.Mutex
	failures int       // since the last success
	success  time.Time // the last
	partial  bool      // it was away, and some servers still are
	lost     time.Time // the last success before it went away
	here     context.Context
	leave    context.CancelFunc // ends here; nil while the part is away
}

// errPartial: some servers do not answer. The others are used.
var errPartial = errors.New("some servers do not answer")

const (
	tripFailures = 5           // so many in a row, or one that was a time-out,
	tripTime     = time.Second // and so long without a success: a part is away
)

func newPart(name string, timeout, hasty time.Duration, o *Options) *part {
	p := &part{name: name, timeout: timeout, hasty: min(timeout, hasty), logger: o.Logger, success: time.Now()}
	p.here, p.leave = context.WithCancel(context.Background())
	return p
}

// healthy reports whether calls go through.
func (p *part) healthy() bool { return p.down() == nil }

// down returns storage.ErrUnavailable while calls are kept from the part.
func (p *part) down() error {
	_, _, err := p.admit()
	return err
}

var errAway = fmt.Errorf("%w: it was away a moment ago", storage.ErrUnavailable)

// admit returns a context that ends when the part goes away, and how long a
// call may take.
func (p *part) admit() (here context.Context, timeout time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.leave == nil:
		return nil, 0, errAway
	case p.failures > 0:
		return p.here, p.hasty, nil
	}
	return p.here, p.timeout, nil
}

// do calls f, unless the part is known to be away. Errors: what f returns, with
// storage.ErrUnavailable where it took too long or the part went away meanwhile;
// the context's, where the caller went away.
func (p *part) do(ctx context.Context, what string, f func(context.Context) error) error {
	here, timeout, err := p.admit()
	if err == nil {
		err = p.call(ctx, here, timeout, false, f)
	}
	if err == nil || errors.Is(err, errCached) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// try calls f also while the part is away, and learns whether it still is.
func (p *part) try(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	return p.call(ctx, context.Background(), timeout, true, f)
}

func (p *part) call(ctx, here context.Context, timeout time.Duration, trial bool, f func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(here, cancel)()
	began := time.Now()
	err := f(within)
	switch {
	case errors.Is(err, errCached), errors.Is(err, errClassTimeout):
		return err
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%w: %w", errGone, ctx.Err())
	case within.Err() != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, errPartial):
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	p.learn(began, err, ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded), trial)
	return err
}

// learn notes how a call ended, and whether it took all its time. Only a trial
// finds out that the part is back: a call that began before it went away may have
// reached a server that never was.
func (p *part) learn(began time.Time, err error, tooLong, trial bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !errors.Is(err, storage.ErrUnavailable) {
		if trial {
			p.answered(err)
		}
		if p.leave != nil {
			p.failures, p.success = 0, now
		}
		return
	}
	p.failures++
	tooLong = tooLong && p.success.Before(began)
	if p.leave != nil && (tooLong || p.failures >= tripFailures) && now.Sub(p.success) >= tripTime {
		p.leave()
		p.leave, p.lost = nil, p.success
		p.logger.Warn(p.name+" is away", "error", err)
	}
}

// answered notes that a trial was answered, with errPartial where some servers
// are still away.
func (p *part) answered(err error) {
	away, partial := p.leave == nil, errors.Is(err, errPartial)
	if away {
		p.here, p.leave = context.WithCancel(context.Background())
	}
	switch after := time.Since(p.lost).Milliseconds(); {
	case away && partial:
		p.logger.Warn(p.name+" is back in part", "after_ms", after, "error", err)
		p.partial = true
	case !partial && (away || p.partial):
		p.logger.Info(p.name+" is back", "after_ms", after)
		p.partial = false
	}
}

// inRedis calls Redis. Every error but the caller's going away is
// storage.ErrUnavailable: there is nothing in Redis that the caller could have
// got wrong.
func (s *Store) inRedis(ctx context.Context, what string, f func(context.Context) error) error {
	return s.redis.do(ctx, what, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, errCached) {
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		return err
	})
}
