package local

import (
	"context"

	"ovation/storage"
	"ovation/worker"
)

// Mirror reads from the database. An action is acknowledged only when it is persisted, so
// that nothing has to be applied, marked or reverted.
type Mirror struct {
	Reader storage.Reader
}

var _ worker.Mirror = Mirror{}

// Get returns the states in the store, all of them persisted.
func (m Mirror) Get(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error) {
	states, err := m.Reader.States(ctx, keys, kinds)
	if err != nil {
		return nil, "", err
	}
	return states, storage.Persisted, nil
}

// Apply does nothing: readers use the database.
func (Mirror) Apply(context.Context, []storage.Action, storage.Durability, []*storage.Interactive) error {
	return nil
}

// Invalidate does nothing: there are no marks.
func (Mirror) Invalidate(context.Context, []storage.Action) error { return nil }

// Revert does nothing: only persisted actions are visible.
func (Mirror) Revert(context.Context, []storage.Action) error { return nil }

// Mark does nothing: counts and states are committed together.
func (Mirror) Mark(context.Context, storage.Outcome) error { return nil }

// Publish does nothing: readers use the database.
func (Mirror) Publish(context.Context, storage.Outcome) error { return nil }
