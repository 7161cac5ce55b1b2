package redis

import (
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage"
)

const (
	floorLife = 2 * time.Second // by then every invalidation has come
	maxFloors = 10_000
)

// floors are the counts that this process has seen past its client's cache, for
// as long as that cache, or Redis, may still be behind: what it answers after
// them must not be older.
type floors struct {
	some atomic.Bool // there are any: usually not, on a node that serves readers
	mu   sync.Mutex
	of   map[storage.Subject]floor
}

type floor struct {
	storage.Counts

	until time.Time
}

// raise notes that counts were seen.
func (f *floors) raise(subject storage.Subject, counts storage.Counts) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFloors {
		f.of = make(map[storage.Subject]floor) // forgetting some is harmless: they last a moment
	}
	if f.of[subject].Version <= counts.Version {
		f.of[detached(subject)] = floor{counts, now.Add(floorLife)}
	}
	f.some.Store(true)
}

// above returns counts of a newer version than this one, where some were seen
// lately.
func (f *floors) above(subject storage.Subject, version int64) (counts storage.Counts, newer bool) {
	if !f.some.Load() {
		return counts, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.of[subject]
	if !ok {
		return counts, false
	}
	if time.Now().After(one.until) {
		delete(f.of, subject)
		f.some.Store(len(f.of) > 0)
		return counts, false
	}
	return one.Counts, version < one.Version
}

// forget forgets all of them.
func (f *floors) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of = nil
	f.some.Store(false)
}
