package redis

import (
	"context"
	"errors"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
)

// Publish writes the counts in outcome to Redis, in the epoch of the transaction, unless
// newer counts are already there. Counts that were committed more than
// counts.MaxWriteDelay ago are read from the database again: they may no longer be the
// latest, and the newer ones in Redis may have expired. If the commit may have outlasted
// the guard, Publish first invalidates the changed entries, since another process may
// have filled a window with states from before the commit. Errors:
// storage.ErrUnavailable, the context's error.
func (s *Store) Publish(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 {
		return nil
	}
	at, err := s.epochs.ForWriting(ctx, outcome.Epoch)
	if err != nil {
		return s.publishError(ctx, at, err)
	}
	latest := outcome.Counts
	late := time.Duration(0)
	if !outcome.At.IsZero() {
		late = time.Since(outcome.At)
	}
	if late > max(counts.MaxWriteDelay, s.opts.Guard-mirror.MarkTime) {
		if err := s.invalidateApplied(ctx, at, outcome.Applied, nil); err != nil {
			return s.publishError(ctx, at, err)
		}
	}
	if late > counts.MaxWriteDelay {
		if latest, err = s.counts.Reload(ctx, latest); err != nil {
			return err
		}
	}
	calls := make([]scripts.Call, len(latest))
	for i := range latest {
		calls[i] = s.counts.Write(at.Keys, latest[i].Subject, latest[i].Counts)
	}
	if err := s.scripts.RunAll(ctx, "publish counts", calls, nil); err != nil {
		return s.publishError(ctx, at, err)
	}
	for i := range latest {
		if latest[i].Version > 0 {
			s.counts.Cache.Observe(at.Keys, latest[i].Subject, latest[i].Counts)
		}
	}
	return nil
}

// publishError returns the error that Publish returns after a failure. The result is nil
// if the epoch is over, since its counts are no longer read. publishError records the
// failure as if a mark had failed, so that repeated failures close the epoch: a worker
// that only retries Publish makes no marks.
func (s *Store) publishError(ctx context.Context, at *epochs.Epoch, err error) error {
	if err = s.epochs.RecordMark(err); !errors.Is(err, storage.ErrUnavailable) { // the caller has cancelled
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), epochs.PollTimeout)
	defer cancel()
	now, asked := s.opts.Database.Epoch(ctx)
	if asked == nil && (!now.Open || now.Number != at.Number) {
		return nil
	}
	return err
}
