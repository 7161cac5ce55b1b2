package worker

import (
	"context"

	"ovation/storage"
)

// Mirror is the copy of states and counts that all nodes share. It is ahead of the
// database: it includes actions that the queue has confirmed but no worker has
// persisted yet. It is safe for concurrent use.
type Mirror interface {
	// Get returns each user's states on each subject as of the latest acknowledged
	// action, and where they are stored: storage.Persisted, or storage.Queued if some of
	// them may not be in the database yet. The durability is "" if the latest action
	// cannot be determined; an action must then be published regardless of the states.
	// Errors: storage.ErrUnavailable, the context's error.
	Get(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error)
	// Apply makes durable actions visible to their users on every node. Actions that are
	// storage.Queued are merged into the states; for actions that are storage.Persisted,
	// existing states are corrected.
	//
	// If seen is not nil, it has an element for each action: nil, or a pointer to an
	// Interactive that Apply fills with the action's subject as the action's user then
	// sees it. The Interactive is left unchanged if filling it would take another read,
	// or if the actions are storage.Persisted. Errors: storage.ErrUnavailable if queued
	// actions are not in the mirror yet, in which case the mirror applies them later;
	// the context's error.
	Apply(ctx context.Context, actions []storage.Action, where storage.Durability, seen []*storage.Interactive) error
	// Invalidate discards what Mark has recorded about whether the counts include these
	// actions, because a transaction that marked them may have been rolled back. It is
	// called before the actions are persisted again, and may be called at any time.
	Invalidate(ctx context.Context, actions []storage.Action) error
	// Revert undoes Apply for actions that will not be persisted. It may be called at
	// any time.
	Revert(ctx context.Context, actions []storage.Action) error
	// Mark records which states the new counts include. It is called within the
	// transaction; an error rolls the transaction back.
	Mark(ctx context.Context, outcome storage.Outcome) error
	// Publish makes the new counts of a transaction visible to all readers, after the
	// commit.
	Publish(ctx context.Context, outcome storage.Outcome) error
}
