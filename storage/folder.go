package storage

import (
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits for folders.
const (
	MaxFolders              = 1000 // a user's folders, the default one included
	MaxFolderNameRunes      = 100
	MaxFolderDescriptionLen = 1000 // in characters
	MaxFolderIDBytes        = 36
)

// A user's default folder holds the subjects that the user collects without naming a
// folder. It is created with the user's first folder or collection, can be renamed and is
// never deleted.
const (
	DefaultFolderID   = "default"
	DefaultFolderName = "Default"
)

// FolderKey identifies a user's folder.
type FolderKey struct {
	Owner    User
	FolderID string // DefaultFolderID, or a UUID that the store assigned
}

// Folder is a named list of subjects that its owner has collected.
type Folder struct {
	Owner       User
	FolderID    string
	Name        string
	Description string
	Public      bool
	ItemCount   int64
	Created     int64 // in microseconds since 1970
	Updated     int64 // when name, description or Public last changed
}

// Key is the folder's key.
func (f *Folder) Key() FolderKey { return FolderKey{f.Owner, f.FolderID} }

// Default reports whether this is its owner's default folder.
func (f *Folder) Default() bool { return f.FolderID == DefaultFolderID }

// CreatedAt is when the folder was created.
func (f *Folder) CreatedAt() time.Time { return Time(f.Created) }

// UpdatedAt is when the name, the description or the visibility last changed.
func (f *Folder) UpdatedAt() time.Time { return Time(f.Updated) }

// VisibleTo reports whether the viewer may see the folder: it is public or belongs to the
// viewer.
func (f *Folder) VisibleTo(viewer User) bool {
	return f.Owner.Tenant == viewer.Tenant && (f.Public || f.Owner == viewer)
}

// FolderChange is a change to a folder. Values whose field is nil stay as they are.
type FolderChange struct {
	Name        *string
	Description *string
	Public      *bool
}

// Validate returns an *InvalidError if the name or the description is out of bounds.
func (c FolderChange) Validate() error {
	if c.Name != nil {
		if err := ValidateFolderName(*c.Name); err != nil {
			return err
		}
	}
	if c.Description != nil {
		return ValidateFolderDescription(*c.Description)
	}
	return nil
}

// ValidateFolderName checks the name of a folder: one line of 1 to 100 characters, at
// least one of them visible, that does not begin or end with a space.
func ValidateFolderName(name string) error {
	return validateName("name", name, MaxFolderNameRunes)
}

// ValidateFolderDescription checks the description of a folder: at most 1,000 characters,
// on any number of lines.
func ValidateFolderDescription(text string) error {
	return validateText("description", text, MaxFolderDescriptionLen, freeText)
}

// FolderNameKey folds a name to the key that is unique among a user's folders. Names have
// the same key if they are canonically equivalent after full case folding (Unicode, D145),
// as "Straße" and "STRASSE" are. Stored keys may follow an earlier rule, which did not fold
// all names, so stores also compare the names that are not ASCII: see
// sqlstore.NameTaken.
func FolderNameKey(name string) string {
	if isPlain(name) {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}
