package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// ErasedAge is how long a store refuses what a user does, and what others do to the user,
// after the user was erased. It exceeds InboxAge, so that no queued action brings data
// back, and the longest life of a token.
const ErasedAge = 32 * 24 * time.Hour

// ErrErased is the error for a text, a file or a folder of a user who was erased, and for
// a message to that user.
var ErrErased = &InvalidError{Field: "user", Reason: "was erased"}

// Digest identifies the user without naming the user: a hash of tenant and id, in hex.
func (u User) Digest() string {
	sum := sha256.Sum256([]byte(u.Tenant + "\n" + u.UserID)) // no id contains a line feed
	return hex.EncodeToString(sum[:])
}

// Erasures removes users with everything that the store holds of and about them: states,
// read history, folders, comments, messages, account, authorship, and the user as a
// subject (User.Subject) with everything that refers to it. Counts and totals follow in
// the transaction that changes what they count.
//
//   - Reads were made nevertheless: they are added to those of the anonymous users.
//   - Comments are deleted as by DeleteComment: one with replies keeps its place, without
//     text and author. Comments of others that the user has edited no longer name an
//     editor.
//   - A conversation is removed for both of its users.
//
// Nothing names the user afterwards. Only User.Digest is kept, for ErasedAge. During this
// time, and from when BeginErase returns, the store refuses what would name the user:
// Persist drops actions and declarations (Outcome.Applied holds them as cleared), and
// turns reads of the user into those of the anonymous users; AddComments, AddMessages,
// EditComment, PublishVideo, CreateFolder and BeginClear return ErrErased, and AddComments
// returns ErrNotFound for a comment on the user.
type Erasures interface {
	// BeginErase begins to erase a user, or resumes. It revokes the user's tokens and
	// removes the name and the profile. It returns when no transaction is in progress that
	// could still add data of the user. If the store has nothing of or about the user,
	// BeginErase changes nothing and returns ErrNotFound. Other errors: ErrInvalid;
	// ErrUnavailable, in which case the call should be repeated.
	BeginErase(ctx context.Context, user User) error
	// EraseNext clears or removes up to limit rows of each kind, after BeginErase. It runs
	// in one transaction and calls mark, as Persist does. A state is first cleared, with
	// the next version, and a later call removes its row: Outcome.Applied then holds the
	// state with Version 0. EraseNext may be called by several processes at the same time.
	// It returns how many rows it has cleared or removed; if none, nothing of the user is
	// left. Errors: ErrVideosLeft.
	EraseNext(ctx context.Context, user User, limit int, mark Mark) (int, Outcome, error)
}

// ErrVideosLeft means that the user still has videos. They are deleted first
// (Videos.DeleteVideo), because their files are not in the store.
var ErrVideosLeft = &InvalidError{Field: "user", Reason: "has videos, which must be deleted first"}
