package worker

import (
	"sync"

	"ovation/storage"
)

// maxDoubts is how many states may be in doubt. Past it the recorder forgets
// any one of them, which leaves that one user with what the mirror says.
const maxDoubts = 100_000

// doubts remember the actions of which nobody knows whether they will be
// persisted: their publishing failed, and yet a worker may have them. Until
// such an action is in the database, or one that makes up for it, what the mirror
// says of its state may change by itself.
type doubts struct {
	mu      sync.Mutex
	actions map[stateID]storage.Register // those in doubt
}

func newDoubts() *doubts { return &doubts{actions: make(map[stateID]storage.Register)} }

// add notes an action.
func (d *doubts) add(id stateID, action storage.Register) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.actions[id]; !known && len(d.actions) >= maxDoubts {
		for other := range d.actions {
			delete(d.actions, other)
			break
		}
	}
	d.actions[id] = action.Join(d.actions[id])
}

// beyond returns the latest version in doubt if what is known to be reached does
// not cover it, and otherwise forgets it and returns 0.
func (d *doubts) beyond(id stateID, reached storage.Register) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.actions) == 0 { // as it should be
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
