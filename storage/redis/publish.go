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

// Publish makes counts visible to everyone in the epoch of the transaction,
// where they are newer than what is. Counts that were committed a while ago are
// read again: they may no longer be the latest, and what tells so have ended.
// Where the commit may have outlasted the guard, it is first made unknown what
// they include: somebody may have filled a window from before it.
// Errors: storage.ErrUnavailable, the context's.
func (s *Store) Publish(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 {
		return nil
	}
	at, err := s.epochs.Ours(ctx, outcome.Epoch)
	if err != nil {
		return s.unpublished(ctx, at, err)
	}
	latest := outcome.Counts
	late := time.Duration(0)
	if !outcome.At.IsZero() {
		late = time.Since(outcome.At)
	}
	if late > max(counts.FreshTime, s.opts.Guard-mirror.MarkTime) {
		if err := s.forgetApplied(ctx, at, outcome.Applied, nil); err != nil {
			return s.unpublished(ctx, at, err)
		}
	}
	if late > counts.FreshTime {
		if latest, err = s.counts.StoredAgain(ctx, latest); err != nil {
			return err
		}
	}
	calls := make([]scripts.Call, len(latest))
	for i := range latest {
		calls[i] = s.counts.Write(at.Keys, latest[i].Subject, latest[i].Counts)
	}
	if err := s.scripts.RunAll(ctx, "publish counts", calls, nil); err != nil {
		return s.unpublished(ctx, at, err)
	}
	for i := range latest {
		if latest[i].Version > 0 {
			s.counts.Cache.Seen(latest[i].Subject, latest[i].Counts)
		}
	}
	return nil
}

// unpublished returns why counts could not be published, nil once the epoch is
// over: nobody reads them any more. A worker that only publishes closes it as
// one that marks.
func (s *Store) unpublished(ctx context.Context, at *epochs.Epoch, err error) error {
	if err = s.epochs.Note(err); !errors.Is(err, storage.ErrUnavailable) { // the caller went away
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), epochs.PollLimit)
	defer cancel()
	now, asked := s.opts.Database.Epoch(ctx)
	if asked == nil && (!now.Open || now.Number != at.Number) {
		return nil
	}
	return err
}
