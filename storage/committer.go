package storage

import "context"

// Committer persists reactions without the queue, while their clients wait.
type Committer interface {
	// CommitActions applies actions in one transaction, as Persist does, in one round trip.
	// It takes one more if a state already includes a later action. All actions must be of
	// KindReaction.
	//
	// Repeating a call whose outcome is unknown applies nothing twice, because each state
	// keeps the versions of the actions that it includes. Applied then holds the present
	// states, and Counts does not hold their subjects.
	//
	// Errors: ErrInvalid; ErrLocked; ErrUnavailable, also if the outcome is unknown; any
	// other error means that the database rejects at least one of the actions and has
	// applied none of them.
	CommitActions(ctx context.Context, actions []Action) (Outcome, error)
}
