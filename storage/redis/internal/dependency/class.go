package dependency

import (
	"context"
	"fmt"
	"time"

	"ovation/breaker"
	"ovation/storage"
)

// Class bounds the calls of one kind to a part: how many are made at the same
// time, and how long each may take. Classes do not share slots, so that slow or
// frequent calls of one kind leave the slots of another free.
type Class struct {
	part    *Part
	timeout time.Duration // 0: that of the part
	Slots   chan struct{}
}

// errClassTimeout ends a call that took longer than its class allows. It says
// nothing about the part, which has a longer time-out.
var errClassTimeout = fmt.Errorf("%w: it took too long (%w)", storage.ErrUnavailable, breaker.ErrIgnored)

// slotTime is how long a call waits for a slot.
const slotTime = 400 * time.Millisecond

// NewClass returns a Class of at most limit calls at a time. A timeout of 0 is that of
// the Part.
func NewClass(of *Part, limit int, timeout time.Duration) *Class {
	return &Class{part: of, timeout: timeout, Slots: make(chan struct{}, limit)}
}

// Do calls f once there is a free slot. Errors: those of part.do;
// storage.ErrUnavailable where no slot becomes free in time.
func (c *Class) Do(ctx context.Context, what string, f func(context.Context) error) error {
	if err := c.acquire(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { <-c.Slots }()
	return c.part.Run(ctx, what, func(ctx context.Context) error {
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

// acquire waits for a slot.
func (c *Class) acquire(ctx context.Context) error {
	if err := c.part.Err(); err != nil {
		return err
	}
	select {
	case c.Slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(slotTime)
	defer timer.Stop()
	select {
	case c.Slots <- struct{}{}:
		return nil
	case <-c.part.Opened():
		return breaker.ErrOpen
	case <-timer.C:
		return fmt.Errorf("%w: too many wait for it", storage.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AskAs asks the database behind.
func AskAs[T any](ctx context.Context, c *Class, what string, f func(context.Context) (T, error)) (out T, err error) {
	err = c.Do(ctx, what, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}
