package pending

import (
	"context"
	"slices"
	"sync"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/scripts"
)

const (
	maxWait      = 300 * time.Millisecond // longest wait of a caller for a worker
	stallTimeout = time.Second            // time without progress of workers after which few callers wait (see AwaitWorker)
	watchTime    = 2 * stallTimeout       // how long the database is polled for a caller's actions, to detect progress
	minPollPause = 5 * time.Millisecond   // between two polls; doubled after each poll without progress
	maxPollPause = 40 * time.Millisecond
)

// AwaitWorker waits until a worker has persisted actions that this process could not
// write to Redis. While the epoch is open, other nodes trust Redis, which lacks these
// actions until the worker marks them. AwaitWorker waits at most maxWait, and stops
// waiting if the database is unavailable. If workers have persisted none of the awaited
// actions for stallTimeout, most callers do not wait: until workers make progress again,
// only one caller in every watchTime waits.
func (u *Writes) AwaitWorker(ctx context.Context, actions []storage.Action) {
	actions = slices.DeleteFunc(slices.Clone(actions), func(a storage.Action) bool { return a.Kind.AddsUp() })
	if len(actions) == 0 || !u.Epochs.Current().Open {
		return
	}
	own := u.waiters.add(actions)
	if own == nil {
		return
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-own.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// waiter is a caller that waits for a worker.
type waiter struct {
	began   time.Time
	actions []storage.Action // not yet persisted
	done    chan struct{}    // closed when all are persisted, or when waiting has become useless
}

// waiters holds the callers that are waiting or have recently stopped waiting, oldest
// first. One goroutine polls for all of them (see watchPersisted), so that the number of
// queries does not depend on the number of callers.
type waiters struct {
	wake chan struct{} // signals new elements

	mu       sync.Mutex
	list     []*waiter
	progress time.Time // time of the last progress, or of the first waiter
	stalled  bool      // no progress for stallTimeout
	lastAdd  time.Time // time of the last call of add
}

// add registers a caller. It returns nil if the caller must not wait, because workers
// make no progress.
func (w *waiters) add(actions []storage.Action) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.lastAdd) > watchTime { // stalled is outdated
		w.stalled = false
	}
	w.lastAdd = now
	switch {
	case len(w.list) == 0 && !w.stalled:
		w.progress = now
	case len(w.list) > 0 && now.Sub(w.progress) > stallTimeout:
		w.stalled = true
		return nil
	}
	own := &waiter{began: now, actions: actions, done: make(chan struct{})}
	w.list = append(w.list, own)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return own
}

// batch returns the waiters whose actions are looked up next. Callers that are still
// waiting come first, beginning with the oldest. The others follow, beginning with the
// newest. Together they have at most about scripts.Pipeline actions.
func (w *waiters) batch() (out []*waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.list = slices.DeleteFunc(w.list, func(one *waiter) bool { return now.Sub(one.began) > watchTime })
	actions, waiting := 0, func(one *waiter) bool { return now.Sub(one.began) <= maxWait }
	for _, one := range w.list {
		if waiting(one) && actions < scripts.Pipeline {
			out, actions = append(out, one), actions+len(one.actions)
		}
	}
	for _, one := range slices.Backward(w.list) {
		if !waiting(one) && actions < scripts.Pipeline {
			out, actions = append(out, one), actions+len(one.actions)
		}
	}
	return out
}

// record removes those actions of the given waiters that are persisted, and reports
// whether there were any. The slice persisted has one element for each action of these
// waiters, in order.
func (w *waiters) record(some []*waiter, persisted []bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(persisted, true) {
		return false
	}
	w.progress, w.stalled = time.Now(), false
	for _, one := range some {
		of := persisted[:len(one.actions)]
		persisted = persisted[len(of):]
		var left []storage.Action
		for i, is := range of {
			if !is {
				left = append(left, one.actions[i])
			}
		}
		if one.actions = left; len(left) == 0 {
			close(one.done)
		}
	}
	w.list = slices.DeleteFunc(w.list, func(one *waiter) bool { return len(one.actions) == 0 })
	return true
}

// releaseAll ends the wait of all callers.
func (w *waiters) releaseAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.list {
		close(one.done)
	}
	w.list, w.stalled = nil, false
}

// watchPersisted polls the database for the actions of waiters until the context ends.
func (u *Writes) watchPersisted(ctx context.Context) {
	defer u.waiters.releaseAll()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.waiters.wake:
		}
		for pause := minPollPause; ; pause = min(2*pause, maxPollPause) {
			timer.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			some := u.waiters.batch()
			if len(some) == 0 {
				break
			}
			if u.checkPersisted(ctx, some) {
				pause = minPollPause / 2
			}
		}
	}
}

// checkPersisted polls the database once, and reports whether workers have made progress.
func (u *Writes) checkPersisted(ctx context.Context, some []*waiter) bool {
	if !u.Epochs.Current().Open {
		u.waiters.releaseAll()
		return false
	}
	var actions []storage.Action
	for _, one := range some {
		actions = append(actions, one.actions...)
	}
	persisted, err := u.included(ctx, actions)
	if err != nil {
		u.waiters.releaseAll()
		return false
	}
	return u.waiters.record(some, persisted)
}
