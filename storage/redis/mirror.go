package redis

import (
	"context"
	"errors"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// Look returns what each user did to each subject as of the latest
// acknowledged action, and where all of that is: storage.Persisted, or
// storage.Queued where some of it may not be in the database yet. It is ""
// where Redis is down, or may have lost what is queued. It keeps alive what it
// has looked at. Errors: storage.ErrUnavailable, where the database is down too
// or is needed; storage.ErrInvalid; the context's.
func (s *Store) Look(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error) {
	return s.look(ctx, keys, kinds, true)
}

// showTries is how often it is tried at once to show something: another node
// that lacks it may take the user's next action for one that changes nothing.
const showTries = 3

// Show makes durable actions visible to their users on every node: those that
// are storage.Queued as on their way, those that are storage.Persisted as a
// correction of what is there.
//
// It does so in the present epoch, and in one that has just ended or was closed:
// other nodes may not have heard of that. Where the present epoch is not sure after
// that, another may have begun: this process then shows them again once it is.
//
// What the queue has confirmed and Redis cannot be told of, this process
// remembers, lays over its own replies and tells Redis as soon as it can. Other
// nodes may still believe Redis then: so it waits for a worker to persist it,
// for 300 ms at most. Errors: storage.ErrUnavailable, the context's.
func (s *Store) Show(ctx context.Context, actions []storage.Action, where storage.Durability) (err error) {
	now := s.epochs.Current()
	at := s.epochs.PresentOf(now)
	if at != nil {
		err = s.showHard(ctx, at, actions, where)
	}
	if ended := now.Lately(); ended != nil {
		err = errors.Join(err, s.showHard(ctx, ended, actions, where))
	}
	switch {
	case where != storage.Queued, at != nil && err == nil && s.epochs.Sure(at):
		s.unshown.remove(actions)
	case at != nil && err == nil:
		s.unshown.add(actions, at.Number)
	default:
		s.unshown.add(actions, 0)
		s.awaitWorker(ctx, actions)
	}
	return err
}

// showHard tries a few times, while Redis is there.
func (s *Store) showHard(ctx context.Context, at *epochs.Epoch, actions []storage.Action, where storage.Durability) (err error) {
	for range showTries {
		err = s.show(ctx, at, actions, where)
		if err == nil || ctx.Err() != nil || !s.redis.Healthy() {
			break
		}
	}
	return err
}

func (s *Store) show(ctx context.Context, at *epochs.Epoch, actions []storage.Action, where storage.Durability) error {
	how := "q"
	if where == storage.Persisted {
		how = "-"
	}
	g := s.windows.Group(at.Keys, scripts.Show, how)
	for i := range actions {
		a := &actions[i]
		if _, state, ok := window.ActionText(a); ok {
			g.Add(a.User, a.Subject, a.Kind, scripts.Text(a.Version), state)
		}
	}
	return g.Run(ctx, "show actions")
}

// Mark notes what the new counts include. It is called within the
// transaction, under its row locks. Where there is no epoch it does nothing.
// Errors: storage.ErrUnavailable, the context's.
func (s *Store) Mark(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 {
		return nil
	}
	at, err := s.epochs.Ours(ctx, outcome.Epoch)
	if err != nil {
		return s.epochs.Note(err)
	}
	versions := make(map[storage.Subject]int64, len(outcome.Counts))
	for i := range outcome.Counts {
		versions[outcome.Counts[i].Subject] = outcome.Counts[i].Version
	}
	g := s.windows.Group(at.Keys, scripts.Mark, scripts.Text(s.opts.Guard.Milliseconds()))
	for i := range outcome.Applied {
		c := &outcome.Applied[i]
		state := window.ChangeText(c)
		g.Add(c.User, c.Subject, c.Kind, scripts.Text(c.Version), state, window.Share(state), scripts.Text(versions[c.Subject]))
	}
	return s.epochs.Note(g.Run(ctx, "mark states"))
}

// Forget makes it unknown what the counts include of the states that the
// actions are about, in the epoch that the database tells of: a marking
// transaction was in that one, or nobody believes its marks any longer. What
// the queue has confirmed stays shown. Errors: storage.ErrUnavailable, the
// context's.
func (s *Store) Forget(ctx context.Context, actions []storage.Action) error {
	now, err := s.opts.Database.Epoch(ctx)
	if err != nil || !now.Open {
		return err
	}
	return s.forget(ctx, now.Number, actions)
}

func (s *Store) forget(ctx context.Context, epoch int64, actions []storage.Action) error {
	at, err := s.epochs.Ours(ctx, epoch)
	if err != nil {
		return s.epochs.Note(err)
	}
	g := s.windows.Forgetting(at.Keys)
	for i := range actions {
		if a := &actions[i]; a.Kind != storage.KindRead {
			g.Add(a.User, a.Subject, a.Kind, "q")
		}
	}
	return s.epochs.Note(g.Run(ctx, "forget marks"))
}

// Drop takes back what Show has shown of actions that will not be persisted:
// where one of them is the user's latest word, what the database holds is again.
// Errors: storage.ErrUnavailable, the context's.
func (s *Store) Drop(ctx context.Context, actions []storage.Action) error {
	s.unshown.remove(actions)
	now, err := s.opts.Database.Epoch(ctx)
	if err != nil || !now.Open {
		return err
	}
	latest := storage.Micros(s.Now().Add(time.Minute))
	actions = slices.DeleteFunc(slices.Clone(actions), func(a storage.Action) bool { // no node can have taken it
		return a.Validate() != nil || a.Version > latest
	})
	at, err := s.epochs.Ours(ctx, now.Number)
	if err != nil {
		return s.epochs.Note(err)
	}
	g := s.windows.Forgetting(at.Keys)
	for i := range actions {
		if a := &actions[i]; a.Kind != storage.KindRead {
			g.Add(a.User, a.Subject, a.Kind, scripts.Text(a.Version))
		}
	}
	return s.epochs.Note(g.Run(ctx, "drop what was shown"))
}
