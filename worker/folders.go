package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// Logger takes what goes wrong without failing a caller; slog.Default() if
	// nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// Folders removes folders. Their items may be many, so that they are moved in
// parts, each of which the mirror learns of. It is safe for concurrent use.
type Folders struct {
	store  FolderStore
	mirror Mirror
	opts   FoldersOptions
}

// NewFolders returns a Folders over the store that shows in the mirror what it
// changes.
func NewFolders(store FolderStore, mirror Mirror, opts FoldersOptions) *Folders {
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Folders{store: store, mirror: mirror, opts: opts}
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
		err = f.store.DeleteFolder(ctx, key)
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
	mark := markBy(f.mirror, f.opts.Metrics)
	items := 0
	for {
		n, outcome, err := f.store.EmptyFolder(ctx, key, moveTo, f.opts.Now(), folderChunk, mark)
		items += n
		if err != nil {
			return items, err
		}
		f.show(ctx, outcome)
		if n < folderChunk {
			return items, nil
		}
	}
}

// show makes a committed part visible, to the owner and to everyone. It is
// durable already, so that this fails nobody.
func (f *Folders) show(ctx context.Context, outcome storage.Outcome) {
	actions := make([]storage.Action, 0, len(outcome.Applied))
	for _, change := range outcome.Applied {
		actions = append(actions, storage.Action{
			User: change.User, Subject: change.Subject, Kind: change.Kind,
			Reaction: change.Reaction, FolderID: change.FolderID, Version: change.Version,
		})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := errors.Join(f.mirror.Show(ctx, actions, storage.Persisted), f.mirror.Publish(ctx, outcome))
	if err != nil {
		f.opts.Metrics.mirrorFailed()
		f.opts.Logger.Warn("changes of a folder are not shown yet", "items", len(actions), "error", err)
	}
}
