package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
)

const (
	groupSize    = 500             // requests in one transaction
	groupBacklog = 5000            // accepted requests, including those in the current transaction
	groupTimeout = 3 * time.Second // the default of groupCommit.timeout
	maxSeparate  = 2               // concurrent calls outside the transaction
)

// groupCommit implements group commit: requests that arrive during a transaction share
// the next transaction. It is used for rows that are written directly to the database.
// One transaction at a time suffices, because each transaction includes all waiting
// requests, up to groupSize.
type groupCommit[In, Out any] struct {
	name     string
	commit   func(ctx context.Context, in []In) ([]Out, error)
	lockKey  func(In) any // returns a comparable key; requests with the same key lock the same rows
	breaker  *breaker.Breaker
	timeout  time.Duration // of the retries in sendByLockKey, and of the wait for the semaphore of separate calls
	sizes    func(n int)   // observes the number of requests in a transaction
	separate semaphore     // bounds the calls to runSeparately

	inFlight // its mutex guards the fields below, too

	committing bool // run is running
	accepted   int  // requests without an answer
	waiting    []*groupItem[In, Out]
}

// groupItem is a request and, once done, its result.
type groupItem[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{} // closed when out and err are set
}

// do commits a request together with others. If the context ends first, the call returns
// immediately, and the request may still be committed. Errors: those that commit returns;
// storage.ErrUnavailable, also when the context's deadline passes, in which case the
// request may or may not be committed; ErrClosed after close.
func (g *groupCommit[In, Out]) do(ctx context.Context, in In) (out Out, err error) {
	one := &groupItem[In, Out]{in: in, done: make(chan struct{})}
	if err := g.add(one); err != nil {
		return out, fmt.Errorf("%s: %w", g.name, err)
	}
	select {
	case <-one.done:
		return one.out, one.err
	case <-ctx.Done():
		return out, storage.Ended(ctx, g.name)
	}
}

func (g *groupCommit[In, Out]) add(one *groupItem[In, Out]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.accepted >= groupBacklog:
		return fmt.Errorf("%w: too many requests are waiting for the database", storage.ErrUnavailable)
	}
	g.accepted++
	g.waiting = append(g.waiting, one)
	if !g.committing {
		g.committing = true
		g.running.Go(g.run)
	}
	return nil
}

// run commits batches until no request is waiting.
func (g *groupCommit[In, Out]) run() {
	for {
		g.mu.Lock()
		n := min(len(g.waiting), groupSize)
		batch := g.waiting[:n:n]
		if g.waiting = g.waiting[n:]; n == 0 {
			g.committing, g.waiting = false, nil
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		g.send(batch)
		for _, one := range batch {
			close(one.done)
		}
		g.mu.Lock()
		g.accepted -= n
		g.mu.Unlock()
	}
}

// send commits a batch and sets the results of its requests. If the store rejects the
// batch, its requests are retried one by one, so that only invalid requests fail. If a
// row that the batch needs is locked, its requests are retried in one transaction per
// lock key.
func (g *groupCommit[In, Out]) send(batch []*groupItem[In, Out]) {
	g.sizes(len(batch))
	in := make([]In, len(batch))
	for i, one := range batch {
		in[i] = one.in
	}
	out, err := g.try(in)
	for i, one := range batch {
		if one.err = err; err == nil {
			one.out = out[i]
		}
	}
	switch {
	case err == nil || len(batch) == 1:
	case errors.Is(err, storage.ErrLocked):
		g.sendByLockKey(batch)
	case !errors.Is(err, storage.ErrUnavailable):
		for i := range batch {
			g.send(batch[i : i+1])
		}
	}
}

// sendByLockKey commits the requests from a failed batch in one transaction per lock key.
// Requests that are not retried within the timeout keep their error.
func (g *groupCommit[In, Out]) sendByLockKey(batch []*groupItem[In, Out]) {
	of := make(map[any][]*groupItem[In, Out])
	var keys []any // in the order of their first request
	for _, one := range batch {
		key := g.lockKey(one.in)
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], one)
	}
	if len(keys) == 1 {
		return
	}
	began := time.Now()
	for _, key := range keys {
		if time.Since(began) < g.timeout {
			g.send(of[key])
		}
	}
}

// try commits requests in one transaction, which is not cancelled when callers cancel.
func (g *groupCommit[In, Out]) try(in []In) ([]Out, error) {
	out, err := callWithBreaker(context.Background(), g.breaker, &g.running, func(ctx context.Context) ([]Out, error) {
		out, err := g.commit(ctx, in)
		if err == nil && len(out) != len(in) {
			err = fmt.Errorf("%s: %d answers to %d requests", g.name, len(out), len(in))
		}
		return out, err
	})
	if errors.Is(err, storage.ErrUnavailable) {
		err = fmt.Errorf("%s: %w", g.name, err)
	}
	return out, err
}

// runSeparately calls f outside the group's transaction, but with the group's breaker.
// Only a few such calls run at the same time: changes to one row wait for each other in
// the database, each change holds a connection, and reads need connections, too. The
// method close waits for the call. Errors: those that f returns; storage.ErrUnavailable,
// in which case the outcome is unknown; ErrClosed after close.
func runSeparately[In, Out, T any](ctx context.Context, g *groupCommit[In, Out], what string, f func(context.Context) (T, error)) (out T, err error) {
	done, err := g.begin()
	if err != nil {
		return out, fmt.Errorf("%s: %w", what, err)
	}
	defer done()
	out, err = withSemaphore(ctx, g.separate, g.timeout, g.breaker, &g.running, f)
	if errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrUnavailable) {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return out, err
}
