package worker

import (
	"context"
	"slices"
	"sync"

	"ovation/storage"
)

// turns let one action on a state be on its way at a time, in this process.
// Between processes the versions decide.
type turns struct {
	mu sync.Mutex
	// waiting has a place for each state whose turn is taken: who waits for it,
	// in the order they came. It is usually nobody.
	waiting map[stateID][]chan struct{}
}

// stateID names one state.
type stateID struct {
	storage.StateKey
	kind storage.Kind
}

func newTurns() *turns { return &turns{waiting: make(map[stateID][]chan struct{})} }

// take waits until it is the turn of an action on this state. The turn lasts
// until release is called.
func (t *turns) take(ctx context.Context, of stateID) error {
	t.mu.Lock()
	waiting, taken := t.waiting[of]
	if !taken {
		t.waiting[of] = nil
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting[of] = append(waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.leave(of, mine)
		return storage.Ended(ctx, "wait for the action before")
	}
}

// leave gives up waiting, or the turn if it has come meanwhile.
func (t *turns) leave(of stateID, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.waiting[of]
	if i := slices.Index(waiting, mine); i >= 0 {
		t.waiting[of] = slices.Delete(waiting, i, i+1)
	} else {
		t.next(of)
	}
}

// release ends a turn.
func (t *turns) release(of stateID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next(of)
}

// next gives the turn to whoever has waited longest. The lock is held.
func (t *turns) next(of stateID) {
	waiting := t.waiting[of]
	if len(waiting) == 0 {
		delete(t.waiting, of)
		return
	}
	close(waiting[0])
	t.waiting[of] = waiting[1:]
}
