package sqlstore

import (
	"github.com/google/uuid"

	"ovation/storage"
)

// ErrSameFolder is of items that would move to where they are.
var ErrSameFolder = &storage.InvalidError{Field: "moveItemsTo", Reason: "must be another folder"}

// NewFolder returns the folder to insert, with an id that sorts by time.
func NewFolder(folder storage.Folder) (storage.Folder, error) {
	change := storage.FolderChange{Name: &folder.Name, Description: &folder.Description}
	if err := CheckChange(folder.Owner, change); err != nil {
		return storage.Folder{}, err
	}
	id, err := uuid.NewV7()
	folder.FolderID, folder.ItemCount, folder.Updated = id.String(), 0, folder.Created
	return folder, err
}

// CheckChange validates the owner and what changes.
func CheckChange(owner storage.User, change storage.FolderChange) error {
	if err := CheckOwner(owner); err != nil {
		return err
	}
	return change.Validate()
}

// CheckOwner refuses the anonymous user.
func CheckOwner(owner storage.User) error {
	if err := owner.Validate(); err != nil {
		return err
	}
	return storage.ValidateUserID(owner.UserID)
}

// Change applies what is set in the change, and reports whether anything differs.
func Change(f *storage.Folder, change storage.FolderChange) bool {
	before := *f
	set(&f.Name, change.Name)
	set(&f.Description, change.Description)
	set(&f.Public, change.Public)
	return *f != before
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// NameSuffix makes the name of a default folder unique where it is taken.
func NameSuffix() string { return " " + uuid.NewString()[:8] }
