package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
)

// persist makes a batch durable in one transaction and returns what changed. While the store or the mirror is unavailable it tries again until
// ctx ends; working, in which the tries run, lives a while longer. Errors:
// errStopped, or what keeps this batch from being persisted.
func (w *Worker) persist(ctx, working context.Context, batch []task) (storage.Outcome, error) {
	var failed error // for good
	tries := 0
	try := func() (storage.Outcome, error) {
		outcome, err := w.persistOnce(working, batch)
		if err == nil {
			return outcome, nil
		}
		for i := range batch {
			batch[i].triedBefore = true
		}
		if errors.Is(err, storage.ErrUnavailable) {
			return storage.Outcome{}, err
		}
		if working.Err() != nil {
			return storage.Outcome{}, backoff.Permanent(err)
		}
		tries++
		if len(batch) == 1 && tries < w.opts.MaxTries {
			return storage.Outcome{}, err
		}
		failed = err
		return storage.Outcome{}, backoff.Permanent(err)
	}
	outcome, err := retry(ctx, w, "persist", try)
	switch {
	case err == nil:
		return outcome, nil
	case failed != nil:
		return storage.Outcome{}, failed
	}
	return storage.Outcome{}, errStopped
}

// persistOnce is one try. Marks that an earlier try may have left behind are
// forgotten first. An error of the mirror counts as storage.ErrUnavailable:
// no message is to blame for it.
func (w *Worker) persistOnce(ctx context.Context, batch []task) (storage.Outcome, error) {
	messages := make([]storage.Message, len(batch))
	var again []storage.Action
	actions := 0
	for i, t := range batch {
		messages[i] = t.Message()
		actions += len(messages[i].Actions)
		if t.triedBefore {
			again = append(again, messages[i].Actions...)
		}
	}
	if len(again) > 0 {
		if err := w.mirror.Forget(ctx, again); err != nil {
			w.opts.Metrics.mirrorFailed()
			return storage.Outcome{}, fmt.Errorf("forget marks: %w: %w", storage.ErrUnavailable, err)
		}
	}
	start := time.Now()
	outcome, err := w.persister.Persist(ctx, messages, markBy(w.mirror, w.opts.Metrics))
	if err != nil {
		return storage.Outcome{}, fmt.Errorf("persist batch of %d messages: %w", len(batch), err)
	}
	w.opts.Metrics.persisted(time.Since(start), len(messages), actions)
	return outcome, nil
}

// markBy makes a mirror's marks storage.ErrUnavailable where they fail.
func markBy(mirror Mirror, metrics *Metrics) storage.Mark {
	return func(ctx context.Context, outcome storage.Outcome) error {
		if err := mirror.Mark(ctx, outcome); err != nil {
			metrics.mirrorFailed()
			return fmt.Errorf("mark: %w: %w", storage.ErrUnavailable, err)
		}
		return nil
	}
}

// publish makes committed counts visible. It does not give up before ctx ends.
func (w *Worker) publish(ctx, working context.Context, outcome storage.Outcome) error {
	if len(outcome.Counts) == 0 {
		return nil
	}
	_, err := retry(ctx, w, "publish counts", func() (struct{}, error) {
		err := w.mirror.Publish(working, outcome)
		if err != nil {
			w.opts.Metrics.mirrorFailed()
		}
		return struct{}{}, err
	})
	if err != nil {
		w.opts.Logger.Error("counts not published", "subjects", len(outcome.Counts), "error", err)
	}
	return err
}

// retry calls the function at least once and, unless it fails for good, again
// with growing waits until the context ends.
func retry[T any](ctx context.Context, w *Worker, doing string, f backoff.Operation[T]) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = w.opts.MinBackoff, w.opts.MaxBackoff, 2
	defer w.failing.Store(nil)
	return backoff.Retry(ctx, f, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, wait time.Duration) {
			w.failing.Store(&err)
			w.opts.Metrics.retried()
			w.opts.Logger.Warn("worker tries again", "doing", doing, "wait_ms", wait.Milliseconds(), "error", err)
		}))
}

// Failing returns the error for which the worker is trying again at the moment,
// nil where it is not.
func (w *Worker) Failing() error {
	if err := w.failing.Load(); err != nil {
		return *err
	}
	return nil
}
