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

// floors are the versions of counts that this process has seen past its
// client's cache, for as long as that cache may still be behind: what it
// answers after them must not be older.
type floors struct {
	some atomic.Bool // there are any: usually not, on a node that serves readers
	mu   sync.Mutex
	of   map[storage.Subject]floor
}

type floor struct {
	version int64
	until   time.Time
}

// raise notes that a version was seen.
func (f *floors) raise(subject storage.Subject, version int64) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFloors {
		f.of = make(map[storage.Subject]floor) // forgetting some is harmless: they last a moment
	}
	if f.of[subject].version <= version {
		f.of[subject] = floor{version, now.Add(floorLife)}
	}
	f.some.Store(true)
}

// above reports whether a newer version than this one was seen lately.
func (f *floors) above(subject storage.Subject, version int64) bool {
	if !f.some.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.of[subject]
	if !ok {
		return false
	}
	if time.Now().After(one.until) {
		delete(f.of, subject)
		f.some.Store(len(f.of) > 0)
		return false
	}
	return version < one.version
}
