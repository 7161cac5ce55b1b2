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

// unshown are the states and reads that the queue has confirmed to this process
// and that Redis could not be told of. They are laid over what Redis and the
// database say until it can, or they are too old.
type unshown struct {
	mu    sync.Mutex
	of    map[stateID]unshownState
	reads map[storage.StateKey][]unshownRead
	many  int // reads
	wake  chan struct{}
}

func newUnshown() *unshown {
	return &unshown{
		of: make(map[stateID]unshownState), reads: make(map[storage.StateKey][]unshownRead), wake: make(chan struct{}, 1),
	}
}

type unshownRead struct {
	storage.Action
	since time.Time
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
		switch room := len(u.of)+u.many < maxUnshown; {
		case ok && there.Version < a.Version && (known || room):
			u.of[id] = unshownState{*a, state, time.Now()}
		case a.Kind == storage.KindRead && !a.User.Anonymous() && room && u.find(a) < 0:
			u.reads[id.StateKey] = append(u.reads[id.StateKey], unshownRead{*a, time.Now()})
			u.many++
		}
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// find returns where a read is, or -1.
func (u *unshown) find(a *storage.Action) int {
	return slices.IndexFunc(u.reads[storage.StateKey{User: a.User, Subject: a.Subject}], func(r unshownRead) bool {
		return r.Version == a.Version
	})
}

// remove forgets what is not newer than these actions, and the reads among them.
func (u *unshown) remove(actions []storage.Action) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		if len(u.of)+u.many == 0 {
			return
		}
		a := &actions[i]
		id, _, ok := stateOfAction(a)
		if there, known := u.of[id]; ok && known && there.Version <= a.Version {
			delete(u.of, id)
		}
		if a.Kind == storage.KindRead {
			u.dropReads(id.StateKey, func(r unshownRead) bool { return r.Version == a.Version })
		}
	}
}

func (u *unshown) dropReads(key storage.StateKey, which func(unshownRead) bool) {
	before := u.reads[key]
	n := len(before)
	left := slices.DeleteFunc(before, which)
	if u.many -= n - len(left); len(left) > 0 {
		u.reads[key] = left
	} else {
		delete(u.reads, key)
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
	for key := range u.reads {
		u.dropReads(key, func(r unshownRead) bool { return time.Since(r.since) > life })
		for _, r := range u.reads[key] {
			if len(out) < pipeline {
				out = append(out, r.Action)
			}
		}
	}
	return out
}

func (u *unshown) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.of) + u.many
}

// readsOver returns the reads that lie over the keys, those that may be shown in
// the epoch where one is given. It is asked before Redis is.
func (u *unshown) readsOver(keys []storage.StateKey, in *epoch) (out []storage.Action) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.many == 0 {
		return nil
	}
	seen := make(map[storage.StateKey]bool, len(keys))
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, r := range u.reads[key] {
			if in == nil || in.began(r.Version) {
				out = append(out, r.Action)
			}
		}
	}
	return out
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
