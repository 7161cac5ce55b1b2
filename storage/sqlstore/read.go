package sqlstore

import (
	"math"
	"time"

	"ovation/storage"
)

// Errors for calls whose arguments span tenants.
var (
	ErrViewersTenant = &storage.InvalidError{Field: "tenant", Reason: "must be the viewer's for every subject"}
	ErrKeysTenant    = &storage.InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
)

// NewInteractives returns an Interactive without counts and states for each subject, and
// the keys of the viewer's states. Errors: ErrViewersTenant.
func NewInteractives(viewer storage.User, subjects []storage.Subject) ([]storage.Interactive, []storage.StateKey, error) {
	out, keys := make([]storage.Interactive, len(subjects)), make([]storage.StateKey, len(subjects))
	for i, subject := range subjects {
		if subject.Tenant != viewer.Tenant {
			return nil, nil, ErrViewersTenant
		}
		out[i] = storage.Interactive{Subject: subject, Freshness: storage.Live}
		keys[i] = storage.StateKey{User: viewer, Subject: subject}
	}
	return out, keys, nil
}

// CheckTenants returns ErrKeysTenant if the user and the subject of a key belong to
// different tenants.
func CheckTenants(keys []storage.StateKey) error {
	for _, key := range keys {
		if key.User.Tenant != key.Subject.Tenant {
			return ErrKeysTenant
		}
	}
	return nil
}

// StartOf returns the position after which a page begins. For the first page, this
// position is above every entry.
func StartOf(page storage.Page) storage.Position {
	if page.After == (storage.Position{}) {
		const aboveEveryText = "\U0010ffff"
		return storage.Position{Version: math.MaxInt64, Biz: aboveEveryText, ID: aboveEveryText}
	}
	return page.After
}

// DefaultFolders returns one element per key. The element for the key of a user's default
// folder is the folder as it would be created at the given time. All other elements are
// nil.
func DefaultFolders(keys []storage.FolderKey, now time.Time) []*storage.Folder {
	out, at := make([]*storage.Folder, len(keys)), storage.Micros(now)
	for i, k := range keys {
		if k.FolderID == storage.DefaultFolderID && !k.Owner.Anonymous() {
			out[i] = &storage.Folder{Owner: k.Owner, FolderID: k.FolderID, Name: storage.DefaultFolderName, Created: at, Updated: at}
		}
	}
	return out
}
