package redis

import (
	"context"
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

type unshownState struct {
	storage.Action
	state string
	since time.Time
}

// stateOfAction is the state that an action sets, of a kind that windows hold.
func stateOfAction(a *storage.Action) (id stateID, state string, ok bool) {
	id.StateKey = storage.StateKey{User: a.User, Subject: a.Subject}
	switch a.Kind {
	case storage.KindReaction:
		return id, reactionState(a.Reaction), true
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
		id, state, ok := stateOfAction(a)
		there, known := u.of[id]
		if ok && there.Version < a.Version && (known || len(u.of) < maxUnshown) {
			u.of[id] = unshownState{*a, state, time.Now()}
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
		if there, known := u.of[id]; ok && known && there.Version <= a.Version {
			delete(u.of, id)
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
			out = append(out, state.Action)
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

// lay makes newer states the latest word, as if they had been shown.
func (o overlay) lay(key storage.StateKey, on *entries) {
	for kind := range on {
		e := &on[kind]
		if state, ok := o[stateID{key, kind}]; ok && state.Version > e.version {
			e.known, e.shown, e.version, e.state = true, true, state.Version, state.state
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
