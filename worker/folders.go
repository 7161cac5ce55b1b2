package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
)

const (
	folderChunk  = 1000 // items of a folder moved in one transaction
	folderRounds = 10   // attempts to find the folder empty while its owner keeps filling it
)

// FolderStore is the part of a store that Folders uses.
type FolderStore interface {
	storage.Reader
	storage.Folders
}

// Folders deletes folders, and is safe for concurrent use. As a folder may hold many
// items, they are moved in chunks.
type Folders struct {
	store FolderStore
	now   func() time.Time
}

// NewFolders returns a Folders that uses the given store and clock. If there is a mirror,
// the store must update it.
func NewFolders(store FolderStore, now func() time.Time) *Folders {
	return &Folders{store: store, now: now}
}

// DeleteFolder empties a folder, deletes it and returns the number of its items. The
// items are moved to another folder of the same owner or, if moveTo is empty,
// uncollected. If DeleteFolder fails midway, the folder still holds the remaining items,
// and the call may be repeated.
//
// Errors before anything is moved: storage.ErrDefaultFolder; storage.ErrInvalid, field
// moveItemsTo, if moveTo is the same folder; storage.ErrNotFound if either folder does
// not exist. Later errors: storage.ErrFolderNotEmpty if the owner keeps filling the
// folder; storage.ErrUnavailable; the context's error.
func (f *Folders) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string) (int, error) {
	if err := f.check(ctx, key, moveTo); err != nil {
		return 0, err
	}
	items := 0
	for round := 1; ; round++ {
		n, err := f.empty(ctx, key, moveTo)
		items += n
		if err != nil {
			return items, fmt.Errorf("empty folder: %w", err)
		}
		err = f.store.DeleteFolder(ctx, key, moveTo, f.now())
		if err == nil {
			return items, nil
		}
		if round == folderRounds || !errors.Is(err, storage.ErrFolderNotEmpty) {
			return items, fmt.Errorf("delete folder: %w", err)
		}
	}
}

func (f *Folders) check(ctx context.Context, key storage.FolderKey, moveTo string) error {
	keys := []storage.FolderKey{key}
	switch moveTo {
	case "":
	case key.FolderID:
		return &storage.InvalidError{Field: "moveItemsTo", Reason: "must differ from the folder to delete"}
	default:
		keys = append(keys, storage.FolderKey{Owner: key.Owner, FolderID: moveTo})
	}
	if key.FolderID == storage.DefaultFolderID {
		return storage.ErrDefaultFolder
	}
	folders, err := f.store.FoldersOf(ctx, keys)
	if err != nil {
		return fmt.Errorf("look up folders: %w", err)
	}
	for i, folder := range folders {
		if folder == nil {
			return fmt.Errorf("folder %q: %w", keys[i].FolderID, storage.ErrNotFound)
		}
	}
	return nil
}

// empty removes all items from the folder and returns their number.
func (f *Folders) empty(ctx context.Context, key storage.FolderKey, moveTo string) (int, error) {
	items := 0
	for {
		n, _, err := f.store.EmptyFolder(ctx, key, moveTo, f.now(), folderChunk, nil)
		items += n
		if err != nil || n < folderChunk {
			return items, err
		}
	}
}
