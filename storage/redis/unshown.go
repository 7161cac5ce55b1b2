package redis

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

const (
	maxUnshown = 100_000
	minReshow  = 100 * time.Millisecond
	maxReshow  = 2 * time.Second
)

// unshown are the states that the queue has confirmed to this process and that
// Redis could not be told of. They are laid over what Redis and the
// database say until it can, or a worker has persisted them.
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
	kind int // in window.Kinds
}

// unshownState is what storage.Coalesce leaves of the actions on a state, in its
// order. They were shown in an epoch of which this process is not sure: in is its
// number, 0 where some of them were not.
type unshownState struct {
	actions []storage.Action
	in      int64
}

// add remembers actions, and in which epoch they were shown. Where there are too
// many, new ones are not taken.
func (u *unshown) add(actions []storage.Action, in int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		a := &actions[i]
		id, ok := idOf(a)
		there, known := u.of[id]
		if ok && (known || len(u.of) < maxUnshown) {
			if known && there.in != in {
				there.in = 0
			} else {
				there.in = in
			}
			there.actions = storage.Coalesce(append(there.actions, *a))
			u.of[id] = there
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
		id, ok := idOf(a)
		if there, known := u.of[id]; ok && known {
			there.actions = slices.DeleteFunc(slices.Clone(there.actions), a.Supersedes)
			if u.of[id] = there; len(there.actions) == 0 {
				delete(u.of, id)
			}
		}
	}
}

// some returns what has to be shown, at most a pipeline of it.
func (u *unshown) some() []storage.Action {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []storage.Action
	for _, state := range u.of {
		if len(out) >= scripts.Pipeline {
			break
		}
		out = append(out, state.actions...)
	}
	return out
}

// removeShown forgets what was shown in an epoch that is sure now.
func (u *unshown) removeShown(in int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.of, func(_ stateID, state unshownState) bool { return state.in == in })
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
		for kind := range window.Kinds {
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
func (o overlay) lay(key storage.StateKey, on *window.Entries) {
	for kind := range on {
		for _, a := range o[stateID{key, kind}].actions {
			on[kind].Lay(&a)
		}
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
			if s.reshowSome(ctx) {
				pause = minReshow / 2
			}
			if s.unshown.count() == 0 {
				break
			}
		}
	}
}

// reshowSome shows some of it, and forgets what is shown or persisted. It reports
// whether there was any.
func (s *Store) reshowSome(ctx context.Context) bool {
	at := s.epochs.Present()
	if at != nil && s.epochs.Sure(at) {
		s.unshown.removeShown(at.Number)
	}
	done, left, err := s.persisted(ctx, s.unshown.some())
	if err != nil {
		return false
	}
	s.unshown.remove(done)
	if at == nil || len(left) == 0 || s.show(ctx, at, left, storage.Queued) != nil || !s.epochs.Sure(at) {
		return len(done) > 0
	}
	s.unshown.remove(left)
	return true
}

// idOf names the state that an action sets, if windows hold it.
func idOf(a *storage.Action) (stateID, bool) {
	kind, _, ok := window.ActionText(a)
	return stateID{storage.StateKey{User: a.User, Subject: a.Subject}, kind}, ok
}
