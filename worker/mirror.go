package worker

import (
	"context"

	"ovation/storage"
)

// Mirror is the copy of states and counts that all nodes share and that is
// ahead of the database: what the queue has confirmed is shown in it at once.
// It is safe for concurrent use.
type Mirror interface {
	// Look returns what each user did to each subject as of the latest
	// acknowledged action, and where all of that is: Persisted, or Queued where
	// some of it may not be in the database yet. It is "" where the latest
	// action cannot be known; an action must then be published whatever the
	// states say. Errors: storage.ErrUnavailable, the context's.
	Look(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error)
	// Show makes durable actions visible to their users on every node: as shown
	// and on their way to the database where they are storage.Queued, as a
	// correction of what is shown already where they are storage.Persisted.
	Show(ctx context.Context, actions []storage.Action, where storage.Durability) error
	// Forget makes the mirror stop believing what it says the counts include of
	// the states these actions are about: a transaction that marked them may
	// have been rolled back. It is called before they are persisted again, and
	// may be called at any time.
	Forget(ctx context.Context, actions []storage.Action) error
	// Drop takes back what Show has shown of actions that will not be persisted.
	// It may be called at any time.
	Drop(ctx context.Context, actions []storage.Action) error
	// Mark notes what the new counts include. It is called within the
	// transaction; its error rolls it back.
	Mark(ctx context.Context, outcome storage.Outcome) error
	// Publish makes the new counts of a transaction visible to everyone, after
	// the commit.
	Publish(ctx context.Context, outcome storage.Outcome) error
}
