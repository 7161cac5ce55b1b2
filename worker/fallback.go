package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
)

// FallbackOptions configure a Fallback. The zero value is a good choice.
type FallbackOptions struct {
	// PublishTimeout bounds one attempt to publish; 1 s if 0.
	PublishTimeout time.Duration
	// PersistTimeout bounds one attempt to persist; 5 s if 0.
	PersistTimeout time.Duration
	// Logger logs when a breaker opens and when it closes; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o FallbackOptions) withDefaults() FallbackOptions {
	o.PublishTimeout = cmp.Or(o.PublishTimeout, time.Second)
	o.PersistTimeout = cmp.Or(o.PersistTimeout, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Metrics = cmp.Or(o.Metrics, noMetrics)
	return o
}

const (
	trialTimeout = 400 * time.Millisecond // of a call after a failure
	trialPause   = time.Second            // between trials while the breaker is open
)

// breaker returns the breaker for a dependency. The parameter failing is the timeout of
// calls after a failure. If it is 0, the parameter timeout applies to all calls, and a
// breaker that opens does not cancel them.
func (o FallbackOptions) breaker(part string, timeout, failing time.Duration) *breaker.Breaker {
	return breaker.New(breaker.Options{
		Timeout: timeout, FailingTimeout: failing, Pause: trialPause, Trial: trialTimeout,
		Changed: func(err error, outage time.Duration) {
			if err != nil {
				o.Logger.Warn("calls fail and are rejected until a trial succeeds", "part", part, "error", err)
			} else {
				o.Logger.Info("calls succeed again", "part", part, "down_ms", outage.Milliseconds())
			}
		},
	})
}

// Fallback is a Publisher that persists messages directly while its queue is
// unavailable. If the outcome of publishing is unknown, a message may arrive twice; it
// counts once, because both copies have the same id. It is safe for concurrent use.
type Fallback struct {
	Publisher // the queue

	persister storage.Persister
	queue     *breaker.Breaker
	direct    *breaker.Breaker
	opts      FallbackOptions

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // direct calls to the persister
}

// NewFallback returns a Fallback. The persister must update the mirror itself, because no
// worker does this for direct writes.
func NewFallback(queue Publisher, persister storage.Persister, opts FallbackOptions) *Fallback {
	opts = opts.withDefaults()
	return &Fallback{
		Publisher: queue, persister: persister, opts: opts,
		queue:  opts.breaker("queue", opts.PublishTimeout, trialTimeout),
		direct: opts.breaker("direct writes", opts.PersistTimeout, 0),
	}
}

// Publish returns storage.Queued if the queue has made the message durable, and
// storage.Persisted if the persister has. Errors: as documented for Publisher.
func (f *Fallback) Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error) {
	var durability storage.Durability
	err := f.queue.Do(ctx, func(ctx context.Context) (err error) {
		durability, err = f.Publisher.Publish(ctx, partition, message)
		return err
	})
	if err == nil {
		return durability, nil
	}
	if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
		return "", err
	}
	queueErr := err
	err = f.direct.Do(ctx, func(ctx context.Context) error {
		return f.persist(ctx, message)
	})
	switch {
	case err == nil:
		f.opts.Metrics.bypasses.Inc()
		return storage.Persisted, nil
	case errors.Is(err, storage.ErrUnavailable):
		return "", fmt.Errorf("persist without the queue: %w (the queue: %w)", err, queueErr)
	}
	return "", fmt.Errorf("persist without the queue: %w: %w", ErrRejected, err)
}

// persist persists the message, in two tries if necessary, because a single stall of the
// mirror makes a try fail. It returns when the context ends, even if a commit hangs; the
// outcome is then unknown.
func (f *Fallback) persist(ctx context.Context, message storage.Message) error {
	done := make(chan error, 1)
	if !f.begin() {
		return fmt.Errorf("%w: the process is stopping", storage.ErrUnavailable)
	}
	go func() {
		defer f.running.Done()
		_, err := f.persister.Persist(ctx, []storage.Message{message}, nil)
		if errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil {
			_, err = f.persister.Persist(ctx, []storage.Message{message}, nil)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: not persisted in time: %w", storage.ErrUnavailable, ctx.Err())
	}
}

// begin registers a direct call, unless the Fallback is closed.
func (f *Fallback) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.running.Add(1)
	}
	return !f.closed
}

// Close rejects further direct writes and waits for those in progress, for at most twice
// the PersistTimeout: a commit that hangs ends only when the persister is closed. The
// queue stays open.
func (f *Fallback) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		f.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(2 * f.opts.PersistTimeout):
	}
}
