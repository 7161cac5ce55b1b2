package storage

import (
	"context"
	"errors"
	"fmt"
)

// The errors a caller of a Store should tell apart with errors.Is. Whatever
// else comes back is a fault of the store or of its caller.
var (
	// ErrInvalid: a value is out of bounds. Use errors.As with *InvalidError
	// for the field and the reason.
	ErrInvalid = errors.New("invalid value")
	// ErrNotFound: there is no such thing, or not for this viewer.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken: the user has another folder of that name.
	ErrNameTaken = errors.New("folder name is taken")
	// ErrTooManyFolders: the user has MaxFolders folders.
	ErrTooManyFolders = errors.New("too many folders")
	// ErrDefaultFolder: the default folder is never deleted.
	ErrDefaultFolder = errors.New("the default folder cannot be deleted")
	// ErrFolderNotEmpty: the folder still holds items.
	ErrFolderNotEmpty = errors.New("folder is not empty")
	// ErrUnavailable: the store cannot be reached or is too busy. The same
	// call may succeed later; nothing is known of what it did.
	ErrUnavailable = errors.New("storage is unavailable")
	// ErrNewerSchema: the database was made by a newer release.
	ErrNewerSchema = errors.New("the database was made by a newer release")
)

// InvalidError tells which value is out of bounds and why. It is an
// ErrInvalid.
type InvalidError struct {
	Field  string // as the GraphQL schema names it
	Reason string // fits behind the field's name
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// Is makes every InvalidError an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Ended returns the error of a context that ended while something was done. A
// deadline that passed is ErrUnavailable: whatever was waited for was too slow.
func Ended(ctx context.Context, doing string) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
