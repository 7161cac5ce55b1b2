package sqlstore

import (
	"slices"

	"github.com/google/uuid"

	"ovation/storage"
)

// ErrSameFolder is returned if items would be moved to the folder that they are in.
var ErrSameFolder = &storage.InvalidError{Field: "moveItemsTo", Reason: "must be another folder"}

// NewFolder validates a folder and returns the folder to insert, with an id that sorts by
// creation time.
func NewFolder(folder storage.Folder) (storage.Folder, error) {
	change := storage.FolderChange{Name: &folder.Name, Description: &folder.Description}
	if err := ValidateFolderChange(folder.Owner, change); err != nil {
		return storage.Folder{}, err
	}
	id, err := uuid.NewV7()
	folder.FolderID, folder.ItemCount, folder.Updated = id.String(), 0, folder.Created
	return folder, err
}

// ValidateFolderChange validates the owner and the changed fields.
func ValidateFolderChange(owner storage.User, change storage.FolderChange) error {
	if err := ValidateOwner(owner); err != nil {
		return err
	}
	return change.Validate()
}

// ValidateOwner returns an error if the owner is invalid or anonymous.
func ValidateOwner(owner storage.User) error {
	if err := owner.Validate(); err != nil {
		return err
	}
	return storage.ValidateUserID(owner.UserID)
}

// NameTaken reports whether one of the given folder names is the same as name, regardless
// of case. It is needed for names that are not ASCII, whose stored keys may follow an
// earlier rule.
func NameTaken(name string, others []string) bool {
	if len(others) == 0 {
		return false
	}
	key := storage.FolderNameKey(name)
	return slices.ContainsFunc(others, func(other string) bool { return storage.FolderNameKey(other) == key })
}

// NewNameKey returns the key of a folder's new name, or nil if the change leaves the name
// as it is. The key of an unchanged name may follow an earlier rule, by which another
// folder can have the same name, and must stay.
func NewNameKey(f *storage.Folder, change storage.FolderChange) *string {
	if change.Name == nil || *change.Name == f.Name {
		return nil
	}
	return new(storage.FolderNameKey(*change.Name))
}

// ApplyFolderChange sets those fields of a folder that are set in the change, and reports
// whether the folder differs afterwards.
func ApplyFolderChange(f *storage.Folder, change storage.FolderChange) bool {
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

// NameSuffix returns a random suffix for a default folder's name. It is needed if the
// user has another folder with that name.
func NameSuffix() string { return " " + uuid.NewString()[:8] }
