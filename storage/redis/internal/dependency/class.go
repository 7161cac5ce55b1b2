package dependency

import (
	"context"
	"fmt"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
)

// Class limits how many calls of one kind to a Backend run concurrently, and how long
// each call may take. Classes do not share slots, so slow or frequent calls of one class
// leave the slots of the other classes free.
type Class struct {
	backend *Backend
	timeout time.Duration // 0 means the Backend's timeout
	Slots   chan struct{}
}

// errClassTimeout is returned for a call that exceeded the timeout of its class. It does
// not count as a failure of the Backend, whose own timeout is longer.
var errClassTimeout = fmt.Errorf("%w: the call took too long (%w)", storage.ErrUnavailable, breaker.ErrIgnored)

// slotTimeout bounds the wait for a slot.
const slotTimeout = 400 * time.Millisecond

// NewClass returns a Class that allows at most limit concurrent calls to a Backend. If
// timeout is 0, the Backend's own timeout applies.
func NewClass(of *Backend, limit int, timeout time.Duration) *Class {
	return &Class{backend: of, timeout: timeout, Slots: make(chan struct{}, limit)}
}

// Do waits for a free slot and then calls f. Errors: those of Backend.Run;
// storage.ErrUnavailable if no slot becomes free in time.
func (c *Class) Do(ctx context.Context, what string, f func(context.Context) error) error {
	if err := c.acquire(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { <-c.Slots }()
	return c.backend.Run(ctx, what, func(ctx context.Context) error {
		if c.timeout == 0 {
			return f(ctx)
		}
		within, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		err := f(within)
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %w", errClassTimeout, err)
		}
		return err
	})
}

// acquire waits for a slot, for at most slotTimeout.
func (c *Class) acquire(ctx context.Context) error {
	if err := c.backend.Err(); err != nil {
		return err
	}
	select {
	case c.Slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(slotTimeout)
	defer timer.Stop()
	select {
	case c.Slots <- struct{}{}:
		return nil
	case <-c.backend.Opened():
		return breaker.ErrOpen
	case <-timer.C:
		return fmt.Errorf("%w: too many concurrent calls", storage.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Query calls f through c.Do and returns the result of f.
func Query[T any](ctx context.Context, c *Class, what string, f func(context.Context) (T, error)) (out T, err error) {
	err = c.Do(ctx, what, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}
