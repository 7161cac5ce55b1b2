package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"ovation/storage"
)

const (
	maxUnshown = 100_000
	minReshow  = 100 * time.Millisecond
	maxReshow  = 2 * time.Second
)

// unshown are the states that the queue has confirmed to this process and that
// Redis could not be told of. They are laid over what Redis and the
// database say until it can, or they are too old.
type unshown struct {
	mu   sync.Mutex
	of   map[stateID]unshownState
	wake chan struct{}
}

func newUnshown() *unshown {
	return &unshown{of: make(map[stateID]unshownState), wake: make(chan struct{}, 1)}
}

type stateID struct {
	storage.StateKey
	kind int // in windowKinds
}

// unshownState is what storage.Coalesce leaves of the actions on a state, in its
// order, and when the last of them came.
type unshownState struct {
	actions []storage.Action
	since   time.Time
}

// stateOfAction is the state that an action sets, of a kind that windows hold.
func stateOfAction(a *storage.Action) (id stateID, state string, ok bool) {
	id.StateKey = storage.StateKey{User: a.User, Subject: a.Subject}
	switch a.Kind {
	case storage.KindReaction:
		return id, registerState(storage.RegisterOf(a)), true
	case storage.KindCollection:
		id.kind = collection
		return id, collectionState(a.FolderID), true
	case storage.KindRead:
	}
	return id, "", false
}

// add remembers actions. Where there are too many, new ones are not taken.
func (u *unshown) add(actions []storage.Action) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		a := &actions[i]
		id, _, ok := stateOfAction(a)
		there, known := u.of[id]
		if ok && (known || len(u.of) < maxUnshown) {
			u.of[id] = unshownState{storage.Coalesce(append(there.actions, *a)), time.Now()}
		}
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// remove forgets what is not newer than these actions.
func (u *unshown) remove(actions []storage.Action) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		if len(u.of) == 0 {
			return
		}
		a := &actions[i]
		id, _, ok := stateOfAction(a)
		if there, known := u.of[id]; ok && known {
			there.actions = slices.DeleteFunc(slices.Clone(there.actions), a.Supersedes)
			if u.of[id] = there; len(there.actions) == 0 {
				delete(u.of, id)
			}
		}
	}
}

// some returns what is not too old, at most a pipeline of it.
func (u *unshown) some(life time.Duration) []storage.Action {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []storage.Action
	for id, state := range u.of {
		if time.Since(state.since) > life {
			delete(u.of, id)
		} else if len(out) < pipeline {
			out = append(out, state.actions...)
		}
	}
	return out
}

func (u *unshown) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.of)
}

// overlay is what is laid over the entries of some keys; nil is nothing.
type overlay map[stateID]unshownState

// over returns what lies over the keys. It is asked before Redis is: what is
// shown meanwhile is in either.
func (u *unshown) over(keys []storage.StateKey) (out overlay) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.of) == 0 {
		return nil
	}
	for _, key := range keys {
		for kind := range windowKinds {
			id := stateID{key, kind}
			if state, ok := u.of[id]; ok {
				if out == nil {
					out = make(overlay)
				}
				out[id] = state
			}
		}
	}
	return out
}

// lay merges actions into the entries, as if they had been shown.
func (o overlay) lay(key storage.StateKey, on *entries) {
	for kind := range on {
		for _, a := range o[stateID{key, kind}].actions {
			on[kind].lay(&a)
		}
	}
}

func (e *entry) lay(a *storage.Action) {
	if a.Kind == storage.KindCollection {
		if e.version < a.Version {
			*e = entry{known: true, shown: true, version: a.Version, set: a.Version, state: collectionState(a.FolderID), history: e.history}
		}
		return
	}
	before := e.register()
	if r := before.Join(storage.RegisterOf(a)); r != before {
		e.hold(r)
		e.shown = true
		e.known = e.known || a.If == storage.NoReaction // a clear alone does not tell what there is
	}
}

// reshow shows what could not be shown, until the context ends.
func (s *Store) reshow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.unshown.wake:
		}
		wait := time.NewTimer(minReshow)
		for pause := minReshow; ; pause = min(2*pause, maxReshow) {
			wait.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
			}
			actions := s.unshown.some(s.opts.Doubt)
			if len(actions) == 0 {
				break
			}
			if at := s.present(); at != nil && s.show(ctx, at, actions, storage.Queued) == nil {
				s.unshown.remove(actions)
				pause = minReshow / 2
			}
		}
	}
}
