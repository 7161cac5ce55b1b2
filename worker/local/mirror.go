package local

import (
	"context"

	"ovation/storage"
	"ovation/worker"
)

// Mirror looks into the database. Nothing is acknowledged before it is there,
// so that nothing has to be shown, marked or taken back.
type Mirror struct {
	Reader storage.Reader
}

var _ worker.Mirror = Mirror{}

// Look returns the states that the store has, all of them persisted.
func (m Mirror) Look(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error) {
	states, err := m.Reader.States(ctx, keys, kinds)
	if err != nil {
		return nil, "", err
	}
	return states, storage.Persisted, nil
}

// Show does nothing: readers look into the database.
func (Mirror) Show(context.Context, []storage.Action, storage.Durability) error { return nil }

// Forget does nothing: there are no marks.
func (Mirror) Forget(context.Context, []storage.Action) error { return nil }

// Drop does nothing: nothing is shown that is not persisted.
func (Mirror) Drop(context.Context, []storage.Action) error { return nil }

// Mark does nothing: counts and states are committed together.
func (Mirror) Mark(context.Context, storage.Outcome) error { return nil }

// Publish does nothing: readers look into the database.
func (Mirror) Publish(context.Context, storage.Outcome) error { return nil }
