package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ovation/internal/breaker"
	"ovation/internal/outage"
	"ovation/storage"
)

// ActionBatchesOptions configure ActionBatches. The zero value is a good choice.
type ActionBatchesOptions struct {
	// Queue takes the batches that the database cannot take. If it is nil, they fail with
	// storage.ErrUnavailable.
	Queue Publisher
	// Timeout bounds a transaction, the wait for the transactions before it, and
	// publishing; 3 s if 0.
	Timeout time.Duration
	// Logger logs when the breaker opens and when it closes; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// ActionBatches records batches of actions that a back end sends. Each batch is a
// transaction of its own; a few of them run at the same time. It is safe for concurrent
// use.
type ActionBatches struct {
	persister storage.Persister
	mirror    Mirror
	opts      ActionBatchesOptions
	breaker   *breaker.Breaker
	turns     semaphore
	applyLog  *outage.Log
	calls     inFlight
}

// RecordedBatch is the result of Record.
type RecordedBatch struct {
	// Changed is the number of states that have another value, plus the number of reads,
	// or storage.UnknownChanges.
	Changed    int64
	Durability storage.Durability
}

// NewActionBatches returns an ActionBatches that writes through the given persister, which
// must update the mirror itself. Call Close when it is no longer needed.
func NewActionBatches(persister storage.Persister, mirror Mirror, opts ActionBatchesOptions) *ActionBatches {
	opts.Timeout = cmp.Or(opts.Timeout, groupTimeout)
	opts.Logger, opts.Metrics = cmp.Or(opts.Logger, slog.Default()), cmp.Or(opts.Metrics, noMetrics)
	return &ActionBatches{
		persister: persister, mirror: mirror, opts: opts,
		breaker:  FallbackOptions{Logger: opts.Logger}.breaker("action batches", opts.Timeout, 0),
		turns:    make(semaphore, maxSeparate),
		applyLog: outage.New(opts.Logger, "batches of actions not applied to the mirror yet", "batches of actions are applied to the mirror again"),
	}
}

// Record makes all actions of a batch durable, or none. A batch that was recorded before
// changes nothing and has the same result. If the database is unavailable or takes too
// long, the batch is queued. Deleted subjects and missing folders are treated as in
// storage.Persister.
//
// Errors: storage.ErrInvalid, also if the request id was used for other actions within
// storage.RequestAge; storage.ErrUnavailable, in which case the actions may or may not
// become durable and the call may be repeated; ErrClosed; context.Canceled.
func (b *ActionBatches) Record(ctx context.Context, batch storage.ActionBatch) (RecordedBatch, error) {
	message, err := batch.Message()
	if err != nil {
		return RecordedBatch{}, err
	}
	done, err := b.calls.begin()
	if err != nil {
		return RecordedBatch{}, fmt.Errorf("%s: %w", recordBatch, err)
	}
	defer done()
	recorded, err := b.persist(ctx, message)
	if b.opts.Queue != nil && errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil {
		recorded, err = b.enqueue(ctx, message)
	}
	b.opts.Metrics.batch(message.Actions, err)
	if err != nil {
		return RecordedBatch{}, fmt.Errorf("%s: %w", recordBatch, err)
	}
	b.apply(ctx, message.Actions, recorded.Durability)
	return recorded, nil
}

const recordBatch = "record a batch of actions"

// persist writes the batch to the database, in two tries if necessary, because a single
// stall of the mirror makes a try fail.
func (b *ActionBatches) persist(ctx context.Context, message storage.Message) (RecordedBatch, error) {
	messages := []storage.Message{message}
	outcome, err := withSemaphore(ctx, b.turns, b.opts.Timeout, b.breaker, &b.calls.running, func(ctx context.Context) (storage.Outcome, error) {
		out, err := b.persister.Persist(ctx, messages, nil)
		if errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil {
			out, err = b.persister.Persist(ctx, messages, nil)
		}
		return out, err
	})
	return RecordedBatch{outcome.Changed, storage.Persisted}, err
}

// enqueue publishes the batch under the same id, so that it counts once even if the
// database has taken it.
func (b *ActionBatches) enqueue(ctx context.Context, message storage.Message) (RecordedBatch, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	message.Request = storage.ActionRequest{}
	partition := PartitionOf(message.Actions[0].Subject, b.opts.Queue.Partitions())
	durability, err := b.opts.Queue.Publish(ctx, partition, message)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return RecordedBatch{storage.UnknownChanges, durability}, err
}

// apply makes the batch visible. It is durable already, so a failure is only logged, and
// the end of the caller's context is ignored.
func (b *ActionBatches) apply(ctx context.Context, actions []storage.Action, where storage.Durability) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.opts.Timeout)
	defer cancel()
	if err := b.mirror.Apply(ctx, actions, where, nil); err != nil {
		b.opts.Metrics.mirrorFailures.Inc()
		b.applyLog.Failed("actions", len(actions), "error", err)
		return
	}
	if where == storage.Queued { // for persisted actions, the mirror may have had nothing to do
		b.applyLog.Worked()
	}
}

// Close rejects new batches with ErrClosed and waits until every accepted batch is
// finished. It returns an error if the context ends first. It may be called twice.
func (b *ActionBatches) Close(ctx context.Context) error { return b.calls.close(ctx, recordBatch) }
