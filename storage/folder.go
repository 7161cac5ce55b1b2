package storage

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

// ValidateFolderName checks the name of a folder: 1 to 100 characters of printable text
// that does not begin or end with a space.
func ValidateFolderName(name string) error {
	if err := validateText("name", name, MaxFolderNameRunes, ""); err != nil {
		return err
	}
	switch {
	case name == "":
		return &InvalidError{Field: "name", Reason: "must not be empty"}
	case strings.TrimSpace(name) != name:
		return &InvalidError{Field: "name", Reason: "must not begin or end with a space"}
	}
	return nil
}

// ValidateFolderDescription checks the description of a folder: at most 1,000 characters
// of printable text; line breaks and tabs are allowed.
func ValidateFolderDescription(text string) error {
	return validateText("description", text, MaxFolderDescriptionLen, "\r\n\t")
}

// FolderNameKey folds a name to the key that must be unique among a user's folders: names
// that differ only in case have the same key.
func FolderNameKey(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// The joiners that emoji and several scripts are written with.
const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'

// validateText allows printable characters and the two joiners that emoji and several
// scripts are written with. The last parameter (also) is a string of further characters
// that are allowed. The text may be empty. The parameter most is the maximum number of
// characters.
func validateText(field, s string, most int, also string) error {
	if !utf8.ValidString(s) {
		return &InvalidError{Field: field, Reason: "must be valid UTF-8"}
	}
	if n := utf8.RuneCountInString(s); n > most {
		return &InvalidError{Field: field, Reason: fmt.Sprintf("is %d characters long; at most %d are allowed", n, most)}
	}
	for _, r := range s {
		fine := unicode.IsGraphic(r) && r != unicode.ReplacementChar // the substitute for invalid bytes
		if !fine && r != zeroWidthNonJoiner && r != zeroWidthJoiner && !strings.ContainsRune(also, r) {
			return &InvalidError{Field: field, Reason: fmt.Sprintf("must be printable text; it holds the character %U", r)}
		}
	}
	return nil
}
