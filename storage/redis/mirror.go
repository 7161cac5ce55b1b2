package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// applyTries is the maximum number of attempts to apply actions, without pauses between
// them. Retries matter: on a node where an action is missing, the user's next action may
// be skipped because it seems to change nothing.
const applyTries = 3

// errNoActiveEpoch is returned by Apply while no epoch is active.
var errNoActiveEpoch = fmt.Errorf("%w: Redis is not used at the moment", storage.ErrUnavailable)

// Apply makes durable actions visible to their users on every node. If where is
// storage.Queued, the actions are merged into the entries of their users. If where is
// storage.Persisted, the actions only correct existing entries.
//
// Apply writes to the active epoch. It also writes to an epoch that has just ended or
// been closed, since other nodes may still trust it. If the lease on the active epoch is
// no longer valid afterwards, another epoch may have begun. In that case, this process
// applies the actions again once it has a lease on the new epoch.
//
// Queued actions that could not be written to Redis are kept as pending writes: they are
// overlaid on this process's replies, and written to Redis as soon as possible. As other
// nodes may still trust Redis, Apply then waits at most 300 ms for a worker to persist
// these actions (see pending.Writes.AwaitWorker). Errors: storage.ErrUnavailable, which
// is also returned for queued actions while no epoch is active; the context's error.
//
// If seen is not nil, it must have an element for each action. An element that is not nil
// points to the result for its action: Apply sets the result to the action's subject as
// the action's user sees it now, with the freshness storage.Live. Apply leaves a result
// unchanged if setting it would need further calls. It leaves all results unchanged if
// where is storage.Persisted, because it is then usually unknown which of the actions the
// counts include.
func (s *Store) Apply(ctx context.Context, actions []storage.Action, where storage.Durability, seen []*storage.Interactive) (err error) {
	now := s.epochs.Current()
	at := s.epochs.ActiveOf(now)
	if at != nil {
		var sights []*readBack
		if where == storage.Queued {
			sights = s.readBacks(at, actions, seen)
		}
		if err = s.applyWithRetry(ctx, at, actions, where, sights); err == nil && s.epochs.LeaseValid(at) {
			deliver(sights)
		}
	}
	if ended := now.RecentlyEnded(); ended != nil {
		err = errors.Join(err, s.applyWithRetry(ctx, ended, actions, where, nil))
	}
	switch {
	case where != storage.Queued, at != nil && err == nil && s.epochs.LeaseValid(at):
		s.pending.Remove(actions)
	case at != nil && err == nil:
		s.pending.Add(actions, at.Number)
	default:
		s.pending.Add(actions, 0)
		s.pending.AwaitWorker(ctx, actions)
		if err == nil {
			err = errNoActiveEpoch
		}
	}
	return err
}

// applyWithRetry applies actions, in up to applyTries attempts. It gives up early if ctx
// ends or Redis is unavailable.
func (s *Store) applyWithRetry(
	ctx context.Context, at *epochs.Epoch, actions []storage.Action, where storage.Durability, sights []*readBack,
) (err error) {
	for range applyTries {
		err = s.apply(ctx, at, actions, where, sights)
		if err == nil || ctx.Err() != nil || !s.redis.Healthy() {
			break
		}
	}
	return err
}

// applyQueued applies actions that the queue has confirmed.
func (s *Store) applyQueued(ctx context.Context, at *epochs.Epoch, actions []storage.Action) error {
	return s.apply(ctx, at, actions, storage.Queued, nil)
}

func (s *Store) apply(
	ctx context.Context, at *epochs.Epoch, actions []storage.Action, where storage.Durability, sights []*readBack,
) error {
	how := "q"
	if where == storage.Persisted {
		how = "-"
	}
	g := s.windows.NewGroup(at.Keys, scripts.Apply, how)
	var of []*readBack
	for i := range actions {
		a := &actions[i]
		_, state, ok := window.ActionText(a)
		if !ok {
			continue
		}
		call := g.Add(a.User, a.Subject, a.Kind, scripts.Text(a.Version), state)
		switch {
		case sights == nil:
		case call == len(of):
			of = append(of, sights[i])
		default:
			of[call] = nil // two actions on one window: the reply covers only the first, so neither is read back
		}
	}
	if of == nil {
		return g.Run(ctx, "apply actions")
	}
	return s.applyAndRead(ctx, at, g.Calls, of)
}

// Mark records in Redis which states the new counts in outcome include. It must be called
// within the transaction, under the row locks. It does nothing if outcome has no epoch.
// Errors: storage.ErrUnavailable, the context's error.
func (s *Store) Mark(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 {
		return nil
	}
	at, err := s.epochs.ForWriting(ctx, outcome.Epoch)
	if err != nil {
		return s.epochs.RecordMark(err)
	}
	versions := make(map[storage.Subject]int64, len(outcome.Counts))
	for i := range outcome.Counts {
		versions[outcome.Counts[i].Subject] = outcome.Counts[i].Version
	}
	g := s.windows.NewGroup(at.Keys, scripts.Mark, scripts.Text(s.opts.Guard.Milliseconds()))
	for i := range outcome.Applied {
		c := &outcome.Applied[i]
		state := window.ChangeText(c)
		g.Add(c.User, c.Subject, c.Kind, scripts.Text(c.Version), state, window.Contribution(state), scripts.Text(versions[c.Subject]))
	}
	return s.epochs.RecordMark(g.Run(ctx, "mark states"))
}

// Invalidate discards what Mark has recorded about the given actions. It is then unknown
// which of these actions the counts include. Only marks in the database's current epoch
// are discarded, since those of earlier epochs are no longer trusted. Queued actions stay
// visible. Errors: storage.ErrUnavailable, the context's error.
func (s *Store) Invalidate(ctx context.Context, actions []storage.Action) error {
	now, err := s.opts.Database.Epoch(ctx)
	if err != nil || !now.Open {
		return err
	}
	return s.invalidate(ctx, now.Number, actions)
}

func (s *Store) invalidate(ctx context.Context, epoch int64, actions []storage.Action) error {
	at, err := s.epochs.ForWriting(ctx, epoch)
	if err != nil {
		return s.epochs.RecordMark(err)
	}
	g := s.windows.InvalidationGroup(at.Keys)
	for i := range actions {
		if a := &actions[i]; !a.Kind.AddsUp() {
			g.Add(a.User, a.Subject, a.Kind, "q")
		}
	}
	return s.epochs.RecordMark(g.Run(ctx, "invalidate marks"))
}

// Revert undoes Apply for actions that will not be persisted. If an entry in Redis
// includes one of the actions, the entry is deleted, and the state in the database
// applies again. Errors: storage.ErrUnavailable, the context's error.
func (s *Store) Revert(ctx context.Context, actions []storage.Action) error {
	s.pending.Remove(actions)
	now, err := s.opts.Database.Epoch(ctx)
	if err != nil || !now.Open {
		return err
	}
	latest := storage.Micros(s.Now().Add(time.Minute))
	actions = slices.DeleteFunc(slices.Clone(actions), func(a storage.Action) bool { // an invalid action, or one too far in the future, was never applied
		return a.Validate() != nil || a.Version > latest
	})
	at, err := s.epochs.ForWriting(ctx, now.Number)
	if err != nil {
		return s.epochs.RecordMark(err)
	}
	g := s.windows.InvalidationGroup(at.Keys)
	for i := range actions {
		if a := &actions[i]; !a.Kind.AddsUp() {
			g.Add(a.User, a.Subject, a.Kind, scripts.Text(a.Version))
		}
	}
	return s.epochs.RecordMark(g.Run(ctx, "revert actions"))
}
