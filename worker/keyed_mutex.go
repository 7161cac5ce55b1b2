package worker

import (
	"context"
	"sync"

	"ovation/storage"
)

// keyedMutex serialises the actions on each state within this process, in the order of
// arrival. Between processes, the versions of the actions determine their order.
type keyedMutex struct {
	mu    sync.Mutex
	locks map[stateID]*keyLock
}

// keyLock is the lock of one state. It uses a channel because a channel serves its
// waiters in order.
type keyLock struct {
	token chan struct{} // full while the lock is held
	refs  int           // goroutines that hold the lock or wait for it
}

// stateID identifies one state.
type stateID struct {
	storage.StateKey
	kind storage.Kind
}

func newKeyedMutex() *keyedMutex { return &keyedMutex{locks: make(map[stateID]*keyLock)} }

// lock acquires the lock of a state, and waits for it if necessary. Call unlock to
// release the lock.
func (m *keyedMutex) lock(ctx context.Context, key stateID) error {
	m.mu.Lock()
	l := m.locks[key]
	if l == nil {
		l = &keyLock{token: make(chan struct{}, 1)}
		m.locks[key] = l
	}
	l.refs++
	m.mu.Unlock()
	select {
	case l.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		m.unref(key)
		return storage.Ended(ctx, "wait for the previous action")
	}
}

// unlock releases the lock of a state.
func (m *keyedMutex) unlock(key stateID) { <-m.unref(key).token }

// unref drops one reference to a lock, and deletes the lock when it drops the last
// reference.
func (m *keyedMutex) unref(key stateID) *keyLock {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.locks[key]
	if l.refs--; l.refs == 0 {
		delete(m.locks, key)
	}
	return l
}
