package worker

import (
	"sync"

	"ovation/storage"
)

// maxInDoubt is the maximum number of states for which inDoubt keeps an action. If there
// are more, inDoubt drops the action of an arbitrary state, and the recorder relies on
// the mirror for that state.
const maxInDoubt = 100_000

// inDoubt keeps the actions with an unknown outcome: publishing them failed, but a worker
// may receive them nevertheless. Until the action, or an action that supersedes it, is in
// the database, the state that the mirror reports may still change. The metric
// ovation_mirror_in_doubt_since_timestamp_seconds is about something else: it shows since
// when Redis may lack queued actions.
type inDoubt struct {
	mu      sync.Mutex
	actions map[stateID]storage.Register
}

func newInDoubt() *inDoubt { return &inDoubt{actions: make(map[stateID]storage.Register)} }

// add records an action with an unknown outcome.
func (d *inDoubt) add(id stateID, action storage.Register) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.actions[id]; !known && len(d.actions) >= maxInDoubt {
		for other := range d.actions {
			delete(d.actions, other)
			break
		}
	}
	d.actions[id] = action.Join(d.actions[id])
}

// resolve checks whether a register that the state has reached covers the action that is
// kept for the state. If not, resolve returns the action's version. Otherwise, it removes
// the action, if there is one, and returns 0.
func (d *inDoubt) resolve(id stateID, reached storage.Register) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.actions) == 0 { // the normal case
		return 0
	}
	if action := d.actions[id]; !reached.Covers(action) {
		return action.Version()
	}
	delete(d.actions, id)
	return 0
}

func idOf(a storage.Action) stateID {
	return stateID{storage.StateKey{User: a.User, Subject: a.Subject}, a.Kind}
}
