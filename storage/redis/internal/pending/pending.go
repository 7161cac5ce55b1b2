package pending

import (
	"context"
	"maps"
	"slices"
	"sync"

	"ovation/storage"
	"ovation/storage/redis/internal/database"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// maxStates is the maximum number of pending states.
const maxStates = 100_000

// Writes holds actions that the queue has confirmed to this process and that could not be
// written to Redis, grouped by state. They are overlaid on entries from Redis and the
// database until they are in Redis or a worker has persisted them. Use New to create a
// Writes.
type Writes struct {
	Options

	wake    chan struct{} // signals new elements
	waiters waiters

	mu     sync.Mutex
	states map[stateID]state
}

// Options holds the dependencies of a Writes.
type Options struct {
	Epochs   *epochs.Keeper
	Database database.Source
	// Apply writes queued actions to Redis, in an epoch.
	Apply func(ctx context.Context, at *epochs.Epoch, actions []storage.Action) error
}

// New returns an empty Writes.
func New(o Options) *Writes {
	return &Writes{Options: o, states: make(map[stateID]state), wake: make(chan struct{}, 1), waiters: waiters{wake: make(chan struct{}, 1)}}
}

type stateID struct {
	storage.StateKey
	kind int // index in window.Kinds
}

// state holds the coalesced actions on a state, in the order of storage.Coalesce. epoch
// is the number of the epoch in which all of them were applied without a valid lease, or
// 0 if there is no such epoch.
type state struct {
	actions []storage.Action
	epoch   int64
}

// Add adds actions. The parameter in is the number of the epoch in which the actions were
// applied to Redis without a valid lease, or 0 if they were not applied. Once there are
// maxStates states, actions on further states are ignored.
func (u *Writes) Add(actions []storage.Action, in int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		a := &actions[i]
		id, ok := idOf(a)
		there, known := u.states[id]
		if ok && (known || len(u.states) < maxStates) {
			if known && there.epoch != in {
				there.epoch = 0
			} else {
				there.epoch = in
			}
			there.actions = storage.Coalesce(append(there.actions, *a))
			u.states[id] = there
		}
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Remove removes the given actions, and the pending actions that they supersede.
func (u *Writes) Remove(actions []storage.Action) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range actions {
		if len(u.states) == 0 {
			return
		}
		a := &actions[i]
		id, ok := idOf(a)
		if there, known := u.states[id]; ok && known {
			there.actions = slices.DeleteFunc(slices.Clone(there.actions), a.Supersedes)
			if u.states[id] = there; len(there.actions) == 0 {
				delete(u.states, id)
			}
		}
	}
}

// batch returns pending actions, at most about scripts.Pipeline.
func (u *Writes) batch() []storage.Action {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []storage.Action
	for _, state := range u.states {
		if len(out) >= scripts.Pipeline {
			break
		}
		out = append(out, state.actions...)
	}
	return out
}

// removeApplied removes the states whose actions were applied in an epoch, if the lease
// on that epoch is valid: these actions are in Redis. It reports whether it removed any.
// It checks the lease under the lock, so that no state is removed that was added after
// the check.
func (u *Writes) removeApplied(at *epochs.Epoch) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := len(u.states)
	if u.Epochs.LeaseValid(at) {
		maps.DeleteFunc(u.states, func(_ stateID, state state) bool { return state.epoch == at.Number })
	}
	return len(u.states) < before
}

// notApplied returns the given actions without those whose states were applied in an
// epoch. They need not be applied again in that epoch; removeApplied removes them.
func (u *Writes) notApplied(actions []storage.Action, at *epochs.Epoch) []storage.Action {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(actions, func(a storage.Action) bool {
		id, ok := idOf(&a)
		return ok && u.states[id].epoch == at.Number
	})
}

// Count returns the number of pending states.
func (u *Writes) Count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.states)
}

// Overlay holds pending actions on some keys; nil means none.
type Overlay map[stateID]state

// Overlay returns the pending actions on the keys. Call it before reading Redis. In the
// opposite order, an action that is applied and removed between the two may be missed.
func (u *Writes) Overlay(keys []storage.StateKey) (out Overlay) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.states) == 0 {
		return nil
	}
	for _, key := range keys {
		for kind := range window.Kinds {
			id := stateID{key, kind}
			if state, ok := u.states[id]; ok {
				if out == nil {
					out = make(Overlay)
				}
				out[id] = state
			}
		}
	}
	return out
}

// ApplyTo merges the pending actions into the entries of a key.
func (o Overlay) ApplyTo(key storage.StateKey, on *window.Entries) {
	for kind := range on {
		for _, a := range o[stateID{key, kind}].actions {
			on[kind].Apply(&a)
		}
	}
}

// idOf identifies the state that an action sets. It returns false if windows do not hold
// states of the action's kind.
func idOf(a *storage.Action) (stateID, bool) {
	kind, _, ok := window.ActionText(a)
	return stateID{storage.StateKey{User: a.User, Subject: a.Subject}, kind}, ok
}
