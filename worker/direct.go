package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
)

// inFlight counts the calls that are running, so that close can wait for them.
type inFlight struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// begin registers a call, which lasts until the function done is called; close waits
// until then. After close, begin returns ErrClosed.
func (f *inFlight) begin() (done func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	f.running.Add(1)
	return f.running.Done, nil
}

// close rejects new calls and waits until all running calls have ended, or until the
// context ends.
func (f *inFlight) close(ctx context.Context, name string) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.running.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return storage.Ended(ctx, name)
	}
}

// callWithBreaker calls f unless the breaker is open. It returns when the breaker cancels
// the call, even if a commit hangs; whether the commit took place is then unknown. The
// parameter running, a wait group, includes the call to f until f returns. It must
// already include the caller of callWithBreaker, so that its counter is above 0 here.
func callWithBreaker[T any](
	ctx context.Context, b *breaker.Breaker, running *sync.WaitGroup, f func(context.Context) (T, error),
) (out T, err error) {
	err = b.Do(ctx, func(ctx context.Context) (err error) {
		out, err = abandonOnDone(ctx, running, f)
		return err
	})
	return out, err
}

// abandonOnDone calls f and returns when f returns or the context ends. In the second
// case f keeps running.
func abandonOnDone[T any](ctx context.Context, running *sync.WaitGroup, f func(context.Context) (T, error)) (out T, err error) {
	type answer struct {
		out T
		err error
	}
	done := make(chan answer, 1)
	running.Go(func() {
		out, err := f(ctx)
		done <- answer{out, err}
	})
	select {
	case got := <-done:
		return got.out, got.err
	case <-ctx.Done():
		return out, fmt.Errorf("%w: no answer in time: %w", storage.ErrUnavailable, ctx.Err())
	}
}

// semaphore bounds the number of concurrent calls.
type semaphore chan struct{}

// withSemaphore calls f as callWithBreaker does, but first acquires the semaphore, which
// is held until f returns. The breaker does not include the wait for the semaphore in the
// timeout, nor does it count a wait that fails as a failure. Errors: those that
// callWithBreaker returns; storage.ErrUnavailable if the semaphore cannot be acquired
// within the limit or before the breaker opens, in which case f is not called.
func withSemaphore[T any](
	ctx context.Context, s semaphore, limit time.Duration, b *breaker.Breaker, running *sync.WaitGroup, f func(context.Context) (T, error),
) (out T, err error) {
	if err := s.acquire(ctx, limit, b); err != nil {
		return out, err
	}
	called := false
	err = b.Do(ctx, func(ctx context.Context) (err error) {
		called = true
		out, err = abandonOnDone(ctx, running, func(ctx context.Context) (T, error) {
			defer s.release()
			return f(ctx)
		})
		return err
	})
	if !called {
		s.release()
	}
	return out, err
}

// acquire acquires the semaphore. It does not wait while the breaker is open.
func (s semaphore) acquire(ctx context.Context, limit time.Duration, b *breaker.Breaker) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-b.Opened():
		return breaker.ErrOpen
	case <-timer.C:
		return fmt.Errorf("%w: too many changes are waiting for the database", storage.ErrUnavailable)
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for other changes")
	}
}

func (s semaphore) release() { <-s }
