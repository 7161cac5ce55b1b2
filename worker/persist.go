package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
)

// splitAfter is how long an attempt must have taken for its failure to be attributed to
// the size of its batch. The commit is not included, because its duration depends on the
// disk and the standby, not on the batch. splitAfter equals mirror.MarkTime: a store with
// a mirror rolls back a transaction whose Mark takes longer than that.
const splitAfter = 4 * time.Second

// persist makes a batch durable in one transaction and returns what changed. While the
// store or the mirror is unavailable, it retries until ctx ends, unless a batch of
// several messages took too long. Each try uses the context working, which outlives ctx.
// Errors: errStopped, or the reason why the batch cannot be persisted, in which case its
// marks have been invalidated.
func (l *batchLoop) persist(ctx, working context.Context, batch []task) (storage.Outcome, error) {
	var failed error // the permanent error
	tries := 0
	try := func() (storage.Outcome, error) {
		outcome, took, err := l.persistOnce(working, batch)
		tooLarge := len(batch) > 1 && took >= splitAfter
		if err == nil || errors.Is(err, storage.ErrUnavailable) && !tooLarge {
			return outcome, err
		}
		if working.Err() != nil {
			return storage.Outcome{}, backoff.Permanent(err)
		}
		tries++
		if len(batch) == 1 && tries < l.opts.MaxTries {
			return storage.Outcome{}, err
		}
		failed = err
		return storage.Outcome{}, backoff.Permanent(err)
	}
	outcome, err := retry(ctx, l, "persist", try)
	switch {
	case err == nil:
		return outcome, nil
	case failed == nil || l.invalidateAll(ctx, working, batch) != nil:
		return storage.Outcome{}, errStopped
	}
	return storage.Outcome{}, failed
}

// persistOnce is a single try of persist. It also returns how long the try took, not
// counting the commit. If the try fails, the marks that it made are invalidated,
// immediately or before the next try. An error from the mirror is returned as
// storage.ErrUnavailable, because it is not the fault of any message.
func (l *batchLoop) persistOnce(ctx context.Context, batch []task) (_ storage.Outcome, took time.Duration, _ error) {
	start := time.Now()
	if err := l.invalidate(ctx, batch); err != nil {
		return storage.Outcome{}, time.Since(start), err
	}
	messages := make([]storage.Message, 0, len(batch))
	actions := 0
	for i := range batch {
		if t := &batch[i]; !t.isBarrier() || l.barrierPasses(t) {
			messages = append(messages, t.Message())
			actions += len(t.Message().Actions)
		}
	}
	begun, marked := time.Now(), time.Time{}
	stop := func() {}
	outcome, err := l.persister.Persist(ctx, messages, func(inTime context.Context, outcome storage.Outcome) error {
		stop() // the store may call this function again
		setMayBeMarked(batch, true)
		if err := l.mirror.Mark(inTime, outcome); err != nil {
			l.opts.Metrics.mirrorFailures.Inc()
			return fmt.Errorf("mark: %w: %w", storage.ErrUnavailable, err)
		}
		marked = time.Now() // only the commit remains
		stop = l.invalidateWhileHung(ctx, messages)
		return nil
	})
	stop()
	if took = time.Since(start); !marked.IsZero() {
		took = marked.Sub(start)
	}
	if err != nil {
		_ = l.invalidate(ctx, batch) // if this fails, the tasks stay marked
		return storage.Outcome{}, took, fmt.Errorf("persist batch of %d messages: %w", len(batch), err)
	}
	setMayBeMarked(batch, false)
	l.opts.Metrics.persisted(time.Since(begun), len(messages), actions)
	return outcome, took, nil
}

// isBarrier reports whether the message is a barrier.
func (t *task) isBarrier() bool { return t.Message().Barrier != (storage.Barrier{}) }

// barrierPasses reports whether everything queued before a barrier is persisted or
// rejected once the barrier's batch is persisted. That does not hold if this loop has
// requeued a message, which may return after the barrier, or if the barrier is
// redelivered, because it may then have overtaken messages that were requeued earlier.
func (l *batchLoop) barrierPasses(barrier *task) bool { return !l.requeued && !barrier.Redelivered() }

func setMayBeMarked(batch []task, is bool) {
	for i := range batch {
		batch[i].mayBeMarked = is
	}
}

// invalidateAll invalidates the marks of all tasks that have possibly been marked. It
// retries until ctx ends.
func (l *batchLoop) invalidateAll(ctx, working context.Context, batch []task) error {
	_, err := retry(ctx, l, "invalidate marks", func() (struct{}, error) {
		return struct{}{}, l.invalidate(working, batch)
	})
	return err
}

// invalidate is a single try of invalidateAll. If it succeeds, none of the tasks is
// marked any more.
func (l *batchLoop) invalidate(ctx context.Context, batch []task) error {
	var actions []storage.Action
	for i := range batch {
		if batch[i].mayBeMarked {
			actions = append(actions, batch[i].Message().Actions...)
		}
	}
	if len(actions) == 0 {
		return nil
	}
	if err := l.mirror.Invalidate(ctx, actions); err != nil {
		l.opts.Metrics.mirrorFailures.Inc()
		return fmt.Errorf("invalidate marks: %w: %w", storage.ErrUnavailable, err)
	}
	setMayBeMarked(batch, false)
	return nil
}

// retryMirror calls the mirror until the call succeeds or ctx ends.
func (l *batchLoop) retryMirror(ctx context.Context, doing string, call func() error) error {
	_, err := retry(ctx, l, doing, func() (struct{}, error) {
		err := call()
		if err != nil {
			l.opts.Metrics.mirrorFailures.Inc()
		}
		return struct{}{}, err
	})
	return err
}

// publish makes committed counts visible. It retries until ctx ends.
func (l *batchLoop) publish(ctx, working context.Context, outcome storage.Outcome) error {
	if len(outcome.Counts) == 0 {
		return nil
	}
	err := l.retryMirror(ctx, "publish counts", func() error { return l.mirror.Publish(working, outcome) })
	if err != nil {
		l.opts.Logger.Error("counts not published", "subjects", len(outcome.Counts), "error", err)
	}
	return err
}

// retry calls f at least once, and repeats the call with exponential backoff until f
// succeeds or returns a permanent error, or the context ends. It logs the first failure
// and the recovery.
func retry[T any](ctx context.Context, l *batchLoop, doing string, f backoff.Operation[T]) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = l.opts.MinBackoff, l.opts.MaxBackoff, 2
	defer l.failing.Store(nil)
	var since time.Time
	got, err := backoff.Retry(ctx, f, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			l.failing.Store(&err)
			l.opts.Metrics.retries.Inc()
			if since.IsZero() {
				since = time.Now()
				l.opts.Logger.Warn("worker retries until it succeeds", "doing", doing, "error", err)
			}
		}))
	if !since.IsZero() && err == nil {
		l.opts.Logger.Info("worker recovered", "doing", doing, "after_ms", time.Since(since).Milliseconds())
	}
	return got, err
}

// Failing returns the latest error from an operation that the worker is currently
// retrying, or nil if there is none.
func (w *Worker) Failing() error {
	for _, l := range w.loops {
		if err := l.failing.Load(); err != nil {
			return *err
		}
	}
	return nil
}
