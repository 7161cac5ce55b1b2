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
// such an action is in the database, or one above it, what the mirror says of
// its state may change by itself.
type doubts struct {
	mu       sync.Mutex
	versions map[stateID]int64 // of the latest action in doubt
}

func newDoubts() *doubts { return &doubts{versions: make(map[stateID]int64)} }

// add notes an action.
func (d *doubts) add(id stateID, version int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.versions[id]; !known && len(d.versions) >= maxDoubts {
		for other := range d.versions {
			delete(d.versions, other)
			break
		}
	}
	d.versions[id] = max(d.versions[id], version)
}

// above returns the version in doubt if it is above the one that is known to
// be reached, and otherwise forgets it and returns 0.
func (d *doubts) above(id stateID, reached int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.versions) == 0 { // as it should be
		return 0
	}
	if version := d.versions[id]; version > reached {
		return version
	}
	delete(d.versions, id)
	return 0
}

func idOf(a storage.Action) stateID {
	return stateID{storage.StateKey{User: a.User, Subject: a.Subject}, a.Kind}
}
