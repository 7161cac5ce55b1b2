package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"

	"ovation/storage"
)

// FallbackOptions tune a Fallback. The zero value is a good choice.
type FallbackOptions struct {
	// PublishTimeout bounds a try to publish; 2 s if 0.
	PublishTimeout time.Duration
	// PersistTimeout bounds a try to persist; 5 s if 0.
	PersistTimeout time.Duration
	// TrialTimeout bounds both while the part may be down; 400 ms if 0.
	TrialTimeout time.Duration
	// BreakerPause is how long a part that failed three times in a row is left
	// alone before it is tried again; 1 s if 0.
	BreakerPause time.Duration
	// Logger is told when a part goes away or comes back; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o FallbackOptions) withDefaults() FallbackOptions {
	o.PublishTimeout = cmp.Or(o.PublishTimeout, 2*time.Second)
	o.PersistTimeout = cmp.Or(o.PersistTimeout, 5*time.Second)
	o.TrialTimeout = cmp.Or(o.TrialTimeout, 400*time.Millisecond)
	o.BreakerPause = cmp.Or(o.BreakerPause, time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// Fallback is a Publisher that does without its queue while that is
// unavailable: it persists messages itself. A message of which it is not known
// whether the queue has it may then arrive twice; it has one id and counts
// once. It is safe for concurrent use.
type Fallback struct {
	Publisher // the queue

	persister storage.Persister
	queue     *part
	direct    *part
	metrics   *Metrics
}

// NewFallback returns a Fallback to a persister that marks and publishes by
// itself what it changes: no worker does it here.
func NewFallback(queue Publisher, persister storage.Persister, opts FallbackOptions) *Fallback {
	opts = opts.withDefaults()
	return &Fallback{
		Publisher: queue, persister: persister, metrics: opts.Metrics,
		queue:  newPart("queue", opts.PublishTimeout, opts),
		direct: newPart("direct persisting", opts.PersistTimeout, opts),
	}
}

// Publish returns storage.Queued where the queue has made the message durable
// and storage.Persisted where the persister has. Errors: those of a Publisher.
func (f *Fallback) Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error) {
	var durability storage.Durability
	err := f.queue.do(ctx, func(ctx context.Context) (err error) {
		durability, err = f.Publisher.Publish(ctx, partition, message)
		return err
	})
	if err == nil {
		return durability, nil
	}
	if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
		return "", err
	}
	away := err
	err = f.direct.do(ctx, func(ctx context.Context) error {
		_, err := f.persister.Persist(ctx, []storage.Message{message}, nil)
		return err
	})
	switch {
	case err == nil:
		f.metrics.bypassed()
		return storage.Persisted, nil
	case errors.Is(err, storage.ErrUnavailable):
		return "", fmt.Errorf("persist without the queue: %w (the queue: %w)", err, away)
	}
	return "", fmt.Errorf("persist without the queue: %w: %w", ErrRejected, err)
}

// part is something that may be down. A breaker keeps it from costing every
// call its time-out.
type part struct {
	breaker *gobreaker.CircuitBreaker[struct{}]
	timeout time.Duration // of a call
	trial   time.Duration // of a call while the part may be down
}

func newPart(name string, timeout time.Duration, opts FallbackOptions) *part {
	return &part{
		timeout: timeout, trial: min(timeout, opts.TrialTimeout),
		breaker: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			Name:         name,
			MaxRequests:  1,
			Timeout:      opts.BreakerPause,
			ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 },
			IsSuccessful: func(err error) bool { return !errors.Is(err, storage.ErrUnavailable) },
			OnStateChange: func(name string, from, to gobreaker.State) {
				opts.Logger.Warn("breaker", "part", name, "from", from.String(), "to", to.String())
			},
		}),
	}
}

// do calls f, unless the part is known to be down. What takes too long, or is
// not tried, is storage.ErrUnavailable.
func (p *part) do(ctx context.Context, f func(context.Context) error) error {
	timeout := p.timeout
	if p.breaker.State() != gobreaker.StateClosed {
		timeout = p.trial
	}
	_, err := p.breaker.Execute(func() (struct{}, error) {
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := f(within)
		if err != nil && errors.Is(within.Err(), context.DeadlineExceeded) && !errors.Is(err, storage.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}
