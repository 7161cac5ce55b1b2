package storage

import "context"

// Swept is what one call to Deletions.SweepDeleted did.
type Swept struct {
	// Subjects is the number of deleted subjects that the call looked at. If it is 0,
	// nothing is left to sweep.
	Subjects int
	// Queued is the number of deleted subjects that were queued before the call, counted
	// up to MaxSweptQueue. A call that finds none to look at may leave it 0.
	Queued int
	// Commented holds the subjects whose comments the call deleted.
	Commented []Subject
}

// MaxSweptQueue is the maximum of Swept.Queued.
const MaxSweptQueue = 10_000

// Deletions clears what refers to deleted subjects.
//
// The deletion of a video or of a comment deletes its subject. In the same transaction,
// the subject is queued for a sweep, and a video's subject is marked (Counts.Deleted). The
// first call of SweepDeleted marks the subject of a comment. From then on, no transaction
// sets a state on the subject or adds a comment to it: Persist turns actions that would
// set a state into actions that clear it, with the same version, and ignores declarations
// and past comments, while AddComments returns ErrNotFound. Marks are never removed. Reads
// remain, and further reads count, because a read records what happened.
type Deletions interface {
	// SweepDeleted clears up to limit states of each kind on deleted subjects, and
	// deletes up to limit of their comments. It runs in one transaction and calls mark,
	// as Persist does. The version of each state increases by 1, as in EmptyFolder. At
	// most a tenth of limit refers to one subject, or more if fewer than ten are queued. A
	// subject leaves the queue in the transaction after which nothing refers to it, and
	// otherwise moves to the end of the queue once it had this share.
	// Several processes may call SweepDeleted at the same time.
	SweepDeleted(ctx context.Context, limit int, mark Mark) (Swept, Outcome, error)
}

// Sets reports whether the action sets a state, or declares an author, rather than
// clearing it. Actions that add up set nothing.
func (a Action) Sets() bool {
	return a.Reaction != NoReaction || a.FolderID != "" || a.Following || a.Author != ""
}

// Cleared returns the action that clears the state which a would set, with the same
// version.
func (a Action) Cleared() Action {
	a.Reaction, a.FolderID, a.Following, a.Author = NoReaction, "", false, ""
	return a
}
