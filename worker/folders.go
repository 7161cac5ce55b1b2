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
	folderRounds = 10   // tries to find a folder empty while its owner fills it
)

// FolderStore is what Folders needs of a store.
type FolderStore interface {
	storage.Reader
	storage.Folders
}

// FoldersOptions tune Folders. The zero value is a good choice.
type FoldersOptions struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Folders removes folders. Their items may be many, so that they are moved in
// parts. It is safe for concurrent use.
type Folders struct {
	store FolderStore
	now   func() time.Time
}

// NewFolders returns a Folders over the store, which mirrors by itself what it
// changes, where there is a mirror.
func NewFolders(store FolderStore, opts FoldersOptions) *Folders {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Folders{store: store, now: opts.Now}
}

// DeleteFolder moves what lies in a folder to another one of the same owner,
// or uncollects it where moveTo is empty, removes the folder and returns how
// many items it took. When it fails on the way, the folder still holds what
// was not moved, and the call may be repeated.
//
// Errors, before anything is moved: storage.ErrDefaultFolder;
// storage.ErrInvalid, field moveItemsTo, where it is the same folder;
// storage.ErrNotFound for either folder. Later: storage.ErrFolderNotEmpty,
// where the owner keeps filling the folder; storage.ErrUnavailable; the
// context's.
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
		return &storage.InvalidError{Field: "moveItemsTo", Reason: "must be another folder than the deleted one"}
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

// empty takes everything out of the folder and returns how many items.
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
