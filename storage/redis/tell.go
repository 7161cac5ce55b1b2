package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// tellTimeout bounds the attempts to tell an outcome before the epoch is closed.
const tellTimeout = 2 * time.Second

var errNoCommitter = errors.New("the database does not commit actions directly")

// CommitActions commits actions in the database, which must be a storage.Committer. Call
// Tell with the outcome.
func (s *Store) CommitActions(ctx context.Context, actions []storage.Action) (storage.Outcome, error) {
	c, ok := s.opts.Database.(storage.Committer)
	if !ok {
		return storage.Outcome{}, errNoCommitter
	}
	return c.CommitActions(ctx, actions)
}

// Tell makes a committed outcome visible to all readers. It writes the counts and then the
// states of their users to Redis, in one pipeline, unless newer ones are there, in the
// epoch in which the transaction has committed. The entry of a state names the version of
// the counts that include it, so that a reader with older counts reads them again.
//
// If Redis does not answer, Tell closes the epoch, and returns once no process trusts the
// epoch any longer. Errors: storage.ErrUnavailable if that fails, too; the context's error.
func (s *Store) Tell(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 { // every process reads from the database
		return nil
	}
	err := s.tell(ctx, outcome)
	if err == nil {
		return nil
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, s.tell(ctx, outcome)
	}, backoff.WithMaxElapsedTime(tellTimeout))
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.opts.Logger.Warn("Redis is not told of a transaction; its epoch is closed", "epoch", outcome.Epoch, "error", err)
	if closing := s.closeUntold(ctx, outcome.Epoch); closing != nil {
		return fmt.Errorf("close the epoch: %w", closing)
	}
	return nil
}

func (s *Store) tell(ctx context.Context, outcome storage.Outcome) error {
	at, err := s.epochs.ForWriting(ctx, outcome.Epoch)
	if err != nil {
		return err
	}
	latest := outcome.Counts
	if time.Since(outcome.At) > counts.MaxWriteDelay { // newer counts may have been in Redis and may have expired
		if latest, err = s.counts.Reload(ctx, latest); err != nil {
			return err
		}
	}
	calls := make([]scripts.Call, 0, len(latest)+len(outcome.Applied))
	for i := range latest {
		calls = append(calls, s.counts.Tell(at.Keys, latest[i].Subject, latest[i].Counts))
	}
	calls = append(calls, s.entriesOf(at, &outcome)...)
	if err := s.scripts.RunAll(ctx, "tell", calls, nil); err != nil {
		return err
	}
	s.counts.Cache.ObserveAll(at.Keys, latest)
	return nil
}

// entriesOf returns the calls that write the states of an outcome, one for each window.
// The states of one window follow each other, in the order of storage.Coalesce.
func (s *Store) entriesOf(at *epochs.Epoch, outcome *storage.Outcome) []scripts.Call {
	life, shown := s.windows.TTLs()
	shared := []string{life, shown, scripts.Text(int64(s.opts.Window))}
	calls := make([]scripts.Call, 0, len(outcome.Applied))
	var last mirror.WindowKey
	for i := range outcome.Applied {
		c := &outcome.Applied[i]
		if key := (mirror.WindowKey{User: c.User, Biz: c.Subject.Biz}); i == 0 || key != last {
			calls = append(calls, scripts.Tell.On(at.Keys.Window(key), shared))
			last = key
		}
		call := &calls[len(calls)-1]
		state := window.ChangeText(c)
		call.Args = append(call.Args, window.Name(c.Kind, c.Subject.BizID), scripts.Text(c.Version), state, window.Contribution(state), scripts.Text(includedFrom(outcome, c)))
	}
	return calls
}

// includedFrom returns the version of the counts that include a state of an outcome, or 0
// if it is unknown: the counts of other transactions may be older or newer than the state.
func includedFrom(outcome *storage.Outcome, c *storage.StateChange) int64 {
	if outcome.Skipped > 0 || c.OldReaction == c.Reaction {
		return 0
	}
	if counts := outcome.CountsOf(c.Subject); counts != nil {
		return counts.Version
	}
	return 0
}

// closeUntold closes an epoch, and returns when the last lease on it has expired.
func (s *Store) closeUntold(ctx context.Context, number int64) error {
	now, err := s.opts.Database.CloseEpoch(ctx, number)
	if err != nil || now.Wait <= 0 {
		return err
	}
	timer := time.NewTimer(now.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for the end of the epoch")
	}
}
