package worker

import (
	"context"
	"sync"

	"ovation/storage"
)

// turns let one action on a state be on its way at a time, in this process.
// Between processes the versions decide.
type turns struct {
	mu    sync.Mutex
	taken map[stateID]*turn
}

// stateID names one state.
type stateID struct {
	storage.StateKey
	kind storage.Kind
}

// turn belongs to whoever could put the token into its channel.
type turn struct {
	token chan struct{}
	users int // who has it or waits for it
}

func newTurns() *turns { return &turns{taken: make(map[stateID]*turn)} }

// take waits until it is the action's turn. The turn lasts until release is
// called.
func (t *turns) take(ctx context.Context, a storage.Action) (release func(), err error) {
	id := idOf(a)
	t.mu.Lock()
	mine := t.taken[id]
	if mine == nil {
		mine = &turn{token: make(chan struct{}, 1)}
		t.taken[id] = mine
	}
	mine.users++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		mine.users--
		if mine.users == 0 {
			delete(t.taken, id)
		}
	}
	select {
	case mine.token <- struct{}{}:
		return func() { <-mine.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ended(ctx, "wait for the action before")
	}
}
