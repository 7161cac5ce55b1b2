package redis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"ovation/storage"
)

// errGone: the caller went away. It says nothing of what was called.
var errGone = errors.New("the caller went away")

// errCached: the client's own cache has answered. That says nothing either.
var errCached = errors.New("answered from the cache")

// part is something that may be down. A breaker keeps it from costing every
// call its time-out, and a limit keeps everyone from calling it at once.
type part struct {
	breaker *gobreaker.CircuitBreaker[struct{}]
	timeout time.Duration // of a call
	trial   time.Duration // of a call while the part may be down, and of the wait for a turn
	turns   chan struct{} // nil: no limit
	success atomic.Int64  // when a call last succeeded, in nanoseconds since 1970
}

const (
	tripFailures = 5           // after so many in a row
	tripTime     = time.Second // and so long without a success a part is left alone
)

func newPart(name string, timeout, trial time.Duration, limit int, o *Options) *part {
	p := &part{timeout: timeout, trial: min(timeout, trial)}
	if limit > 0 {
		p.turns = make(chan struct{}, limit)
	}
	p.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		MaxRequests: 1,
		Timeout:     o.BreakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= tripFailures && time.Since(time.Unix(0, p.success.Load())) >= tripTime
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			o.Logger.Warn("breaker", "part", name, "from", from.String(), "to", to.String())
		},
		IsSuccessful: func(err error) bool { return err == nil || !errors.Is(err, storage.ErrUnavailable) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errGone) || errors.Is(err, errCached) },
	})
	p.learn(nil)
	return p
}

// healthy reports whether calls go through as usual.
func (p *part) healthy() bool { return p.breaker.State() == gobreaker.StateClosed }

// down returns storage.ErrUnavailable while calls are kept from the part.
func (p *part) down() error {
	if p.breaker.State() == gobreaker.StateOpen {
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, gobreaker.ErrOpenState)
	}
	return nil
}

// do calls f, unless the part is known to be down. Errors: what f returns, with
// storage.ErrUnavailable where it took too long; the context's, where the
// caller went away.
func (p *part) do(ctx context.Context, what string, f func(context.Context) error) error {
	timeout := p.timeout
	if !p.healthy() {
		timeout = p.trial
	}
	if p.turns != nil {
		if err := p.take(ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		defer func() { <-p.turns }()
	}
	_, err := p.breaker.Execute(func() (struct{}, error) {
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := f(within)
		switch {
		case err == nil || errors.Is(err, errCached):
		case errors.Is(ctx.Err(), context.Canceled):
			return struct{}{}, fmt.Errorf("%w: %w", errGone, ctx.Err())
		case within.Err() != nil && !errors.Is(err, storage.ErrUnavailable):
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		p.learn(err)
		return struct{}{}, err
	})
	switch {
	case err == nil || errors.Is(err, errCached):
		return nil
	case errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests):
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// learn notes how a call ended.
func (p *part) learn(err error) {
	if err == nil || !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, errCached) {
		p.success.Store(time.Now().UnixNano())
	}
}

// take waits for a turn.
func (p *part) take(ctx context.Context) error {
	select {
	case p.turns <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(p.trial)
	defer timer.Stop()
	select {
	case p.turns <- struct{}{}:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: too many wait for it", storage.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
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

// ask asks the database behind.
func ask[T any](ctx context.Context, s *Store, what string, f func(context.Context) (T, error)) (out T, err error) {
	err = s.database.do(ctx, what, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}
