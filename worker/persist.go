package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
)

// slow is how long a try takes before its commit that may have failed for the
// size of its batch alone: stores allow no Mark more time. How long the commit takes
// depends on the disk and the standby, not on the batch.
const slow = 4 * time.Second

// persist makes a batch durable in one transaction and returns what changed.
// While the store or the mirror is unavailable it tries again until ctx ends,
// unless several messages together took too long; working, in which the tries
// run, lives a while longer. Errors: errStopped, or what keeps this batch from
// being persisted; its marks are then forgotten.
func (h *hand) persist(ctx, working context.Context, batch []task) (storage.Outcome, error) {
	var failed error // for good
	tries := 0
	try := func() (storage.Outcome, error) {
		outcome, took, err := h.persistOnce(working, batch)
		tooLarge := len(batch) > 1 && took >= slow
		if err == nil || errors.Is(err, storage.ErrUnavailable) && !tooLarge {
			return outcome, err
		}
		if working.Err() != nil {
			return storage.Outcome{}, backoff.Permanent(err)
		}
		tries++
		if len(batch) == 1 && tries < h.opts.MaxTries {
			return storage.Outcome{}, err
		}
		failed = err
		return storage.Outcome{}, backoff.Permanent(err)
	}
	outcome, err := retry(ctx, h, "persist", try)
	switch {
	case err == nil:
		return outcome, nil
	case failed == nil || h.forgetAll(ctx, working, batch) != nil:
		return storage.Outcome{}, errStopped
	}
	return storage.Outcome{}, failed
}

// persistOnce is one try. It also returns how long it took, the commit excepted.
// What it has marked is forgotten where it fails: at once or, where that fails
// too, before the next try. An error of the mirror counts as
// storage.ErrUnavailable: no message is to blame for it.
func (h *hand) persistOnce(ctx context.Context, batch []task) (_ storage.Outcome, took time.Duration, _ error) {
	start := time.Now()
	if err := h.forget(ctx, batch); err != nil {
		return storage.Outcome{}, time.Since(start), err
	}
	messages := make([]storage.Message, 0, len(batch))
	actions := 0
	for i := range batch {
		if t := &batch[i]; !t.isBarrier() || h.passes(t) {
			messages = append(messages, t.Message())
			actions += len(t.Message().Actions)
		}
	}
	begun, marked := time.Now(), time.Time{}
	stop := func() {}
	outcome, err := h.persister.Persist(ctx, messages, func(inTime context.Context, outcome storage.Outcome) error {
		stop() // it is tried again
		doubt(batch, true)
		if err := h.mirror.Mark(inTime, outcome); err != nil {
			h.opts.Metrics.mirrorFailures.Inc()
			return fmt.Errorf("mark: %w: %w", storage.ErrUnavailable, err)
		}
		marked = time.Now() // nothing is left but the commit
		stop = h.forgetWhileHung(ctx, messages)
		return nil
	})
	stop()
	if took = time.Since(start); !marked.IsZero() {
		took = marked.Sub(start)
	}
	if err != nil {
		_ = h.forget(ctx, batch) // where it fails, the batch stays doubtful
		return storage.Outcome{}, took, fmt.Errorf("persist batch of %d messages: %w", len(batch), err)
	}
	doubt(batch, false)
	h.opts.Metrics.persisted(time.Since(begun), len(messages), actions)
	return outcome, took, nil
}

// isBarrier reports whether the message is a barrier.
func (t *task) isBarrier() bool { return t.Message().Barrier != (storage.Barrier{}) }

// passes reports whether everything that was queued before a barrier is persisted
// or rejected once its batch is persisted. That is so unless something was given
// back that comes again behind it; and what is redelivered may overtake what was
// given back before.
func (h *hand) passes(barrier *task) bool { return !h.gaveBack && !barrier.Redelivered() }

func doubt(batch []task, doubtful bool) {
	for i := range batch {
		batch[i].doubtful = doubtful
	}
}

// forgetAll forgets the marks of what is doubtful. It does not give up before
// ctx ends.
func (h *hand) forgetAll(ctx, working context.Context, batch []task) error {
	_, err := retry(ctx, h, "forget marks", func() (struct{}, error) {
		return struct{}{}, h.forget(working, batch)
	})
	return err
}

// forget is one try. After it nothing is doubtful.
func (h *hand) forget(ctx context.Context, batch []task) error {
	var actions []storage.Action
	for i := range batch {
		if batch[i].doubtful {
			actions = append(actions, batch[i].Message().Actions...)
		}
	}
	if len(actions) == 0 {
		return nil
	}
	if err := h.mirror.Forget(ctx, actions); err != nil {
		h.opts.Metrics.mirrorFailures.Inc()
		return fmt.Errorf("forget marks: %w: %w", storage.ErrUnavailable, err)
	}
	doubt(batch, false)
	return nil
}

// drop takes back what the mirror shows of a message that is about to be
// rejected. It does not give up before ctx ends.
func (h *hand) drop(ctx, working context.Context, message storage.Message) error {
	_, err := retry(ctx, h, "take back what is rejected", func() (struct{}, error) {
		err := h.mirror.Drop(working, message.Actions)
		if err != nil {
			h.opts.Metrics.mirrorFailures.Inc()
		}
		return struct{}{}, err
	})
	return err
}

// publish makes committed counts visible. It does not give up before ctx ends.
func (h *hand) publish(ctx, working context.Context, outcome storage.Outcome) error {
	if len(outcome.Counts) == 0 {
		return nil
	}
	_, err := retry(ctx, h, "publish counts", func() (struct{}, error) {
		err := h.mirror.Publish(working, outcome)
		if err != nil {
			h.opts.Metrics.mirrorFailures.Inc()
		}
		return struct{}{}, err
	})
	if err != nil {
		h.opts.Logger.Error("counts not published", "subjects", len(outcome.Counts), "error", err)
	}
	return err
}

// retry calls the function at least once and, unless it fails for good, again
// with growing waits until the context ends. The log is told of the first
// failure and of the end.
func retry[T any](ctx context.Context, h *hand, doing string, f backoff.Operation[T]) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = h.opts.MinBackoff, h.opts.MaxBackoff, 2
	defer h.failing.Store(nil)
	var since time.Time
	got, err := backoff.Retry(ctx, f, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			h.failing.Store(&err)
			h.opts.Metrics.retries.Inc()
			if since.IsZero() {
				since = time.Now()
				h.opts.Logger.Warn("worker tries again until it works", "doing", doing, "error", err)
			}
		}))
	if !since.IsZero() && err == nil {
		h.opts.Logger.Info("worker goes on", "doing", doing, "after_ms", time.Since(since).Milliseconds())
	}
	return got, err
}

// Failing returns the error for which the worker is trying again at the moment,
// nil where it is not.
func (w *Worker) Failing() error {
	for _, h := range w.hands {
		if err := h.failing.Load(); err != nil {
			return *err
		}
	}
	return nil
}
