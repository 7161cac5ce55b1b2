package redis

import (
	"context"

	"ovation/storage"
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

// group gathers the arguments of a script by window. One call of add goes for
// each state.
type group struct {
	store  *Store
	script *script
	first  []string // arguments that come before
	at     map[storage.WindowKey]int
	calls  []call
}

func (s *Store) group(of *script, first ...string) *group {
	return &group{store: s, script: of, first: first, at: make(map[storage.WindowKey]int)}
}

func (g *group) add(user storage.User, subject storage.Subject, kind storage.Kind, args ...string) {
	key := storage.WindowKey{User: user, Biz: subject.Biz}
	i, ok := g.at[key]
	if !ok {
		i = len(g.calls)
		g.at[key] = i
		g.calls = append(g.calls, call{g.script, g.store.windowKey(key), append([]string(nil), g.first...)})
	}
	c := &g.calls[i]
	c.args = append(append(c.args, field(kind, subject.BizID)), args...)
}

func (g *group) run(ctx context.Context, what string) error {
	return g.store.runAll(ctx, what, g.calls, nil)
}

// lives are the arguments that say how long a window lives.
func (s *Store) lives() (life, shown string) { return spread(s.opts.Life), spread(s.opts.ShownLife) }

// Show makes durable actions visible to their users on every node: those that
// are storage.Queued as on their way, those that are storage.Persisted as a
// correction of what is there. Reads become visible when they are persisted.
// Errors: storage.ErrUnavailable, the context's.
func (s *Store) Show(ctx context.Context, actions []storage.Action, where storage.Durability) error {
	life, shown := s.lives()
	how := "q"
	if where == storage.Persisted {
		how = "-"
	}
	g := s.group(showScript, life, shown, text(int64(s.opts.Window)), how)
	for i := range actions {
		a := &actions[i]
		switch a.Kind {
		case storage.KindReaction:
			g.add(a.User, a.Subject, a.Kind, text(a.Version), reactionState(a.Reaction))
		case storage.KindCollection:
			g.add(a.User, a.Subject, a.Kind, text(a.Version), collectionState(a.FolderID))
		case storage.KindRead:
		}
	}
	return g.run(ctx, "show actions")
}

// Mark notes what the new counts include. It is called within the
// transaction, under its row locks. Errors: storage.ErrUnavailable, the
// context's.
func (s *Store) Mark(ctx context.Context, outcome storage.Outcome) error {
	versions := make(map[storage.Subject]int64, len(outcome.Counts))
	for i := range outcome.Counts {
		versions[outcome.Counts[i].Subject] = outcome.Counts[i].Version
	}
	life, shown := s.lives()
	g := s.group(markScript, life, shown, text(int64(s.opts.Window)), text(s.opts.Guard.Milliseconds()))
	for i := range outcome.Applied {
		c := &outcome.Applied[i]
		state := stateOf(c)
		g.add(c.User, c.Subject, c.Kind, text(c.Version), state, shareText(state), text(versions[c.Subject]))
	}
	return g.run(ctx, "mark states")
}

func stateOf(c *storage.StateChange) string {
	if c.Kind == storage.KindReaction {
		return reactionState(c.Reaction)
	}
	return collectionState(c.FolderID)
}

// Forget makes it unknown what the counts include of the states that the
// actions are about. What the queue has confirmed stays shown. Errors:
// storage.ErrUnavailable, the context's.
func (s *Store) Forget(ctx context.Context, actions []storage.Action) error {
	g := s.forgetting()
	for i := range actions {
		if a := &actions[i]; a.Kind != storage.KindRead {
			g.add(a.User, a.Subject, a.Kind, "q")
		}
	}
	return g.run(ctx, "forget marks")
}

func (s *Store) forgetting() *group {
	life, shown := s.lives()
	return s.group(forgetScript, life, shown, text(s.opts.Guard.Milliseconds()))
}
