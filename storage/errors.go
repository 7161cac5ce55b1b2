package storage

import (
	"context"
	"errors"
	"fmt"
)

// The errors that a caller of a Store should distinguish with errors.Is. Any other error
// is a fault in the store or in its caller.
var (
	// ErrInvalid means that a value is out of bounds. Use errors.As with *InvalidError
	// for the field and the reason.
	ErrInvalid = errors.New("invalid value")
	// ErrNotFound means that the object does not exist, or that the viewer may not see
	// it.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken means that the user has another folder with this name.
	ErrNameTaken = errors.New("folder name is taken")
	// ErrAccountNameTaken means that another account of the tenant has this name.
	ErrAccountNameTaken = errors.New("account name is taken")
	// ErrTooManyFolders means that the user already has MaxFolders folders.
	ErrTooManyFolders = errors.New("too many folders")
	// ErrDefaultFolder means that the default folder cannot be deleted.
	ErrDefaultFolder = errors.New("the default folder cannot be deleted")
	// ErrFolderNotEmpty means that the folder still has items.
	ErrFolderNotEmpty = errors.New("folder is not empty")
	// ErrUnavailable means that the store cannot be reached or is too busy. The outcome
	// of the call is unknown; the same call may succeed later.
	ErrUnavailable = errors.New("storage is unavailable")
	// ErrLocked means that another call holds a lock that this one needs. It is an
	// ErrUnavailable, but nothing was changed, and calls that do not need the lock
	// succeed.
	ErrLocked = fmt.Errorf("%w: another call keeps something locked", ErrUnavailable)
	// ErrNewerSchema means that the database was migrated by a newer release.
	ErrNewerSchema = errors.New("the database was made by a newer release")
)

// InvalidError names a value that is out of bounds and gives the reason. It is an
// ErrInvalid.
type InvalidError struct {
	Field  string // as the GraphQL schema names it
	Reason string // follows the field's name in a sentence
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// Is makes every InvalidError an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// DeletedError means that a subject is deleted and therefore takes no comments and no
// author. It is an ErrNotFound.
type DeletedError struct{ Subject Subject }

func (e *DeletedError) Error() string {
	return fmt.Sprintf("the subject %s %s is deleted", e.Subject.Biz, e.Subject.BizID)
}

// Is makes every DeletedError an ErrNotFound.
func (e *DeletedError) Is(target error) bool { return target == ErrNotFound }

// Ended returns the error for an operation whose context has ended. The parameter doing
// describes the operation. An exceeded deadline is ErrUnavailable: the dependency was too
// slow.
func Ended(ctx context.Context, doing string) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
