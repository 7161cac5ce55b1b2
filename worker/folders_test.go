package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
)

// newFolder creates a folder with the given number of items for alice.
func newFolder(t *testing.T, store *sqlite.Store, name string, items int) storage.FolderKey {
	t.Helper()
	folder, err := store.CreateFolder(t.Context(), storage.Folder{Owner: alice, Name: name, Created: 1})
	if err != nil {
		t.Fatal(err)
	}
	fill(t.Context(), t, store, folder.Key(), name, items)
	return folder.Key()
}

// fill collects the given number of items into the folder.
func fill(ctx context.Context, t *testing.T, store *sqlite.Store, key storage.FolderKey, name string, items int) {
	t.Helper()
	m := storage.Message{ID: fmt.Sprintf("%s-%d", name, items)}
	for i := range items {
		a := collect(alice, video(name+strconv.Itoa(i)), key.FolderID)
		a.Version = int64(i + 1)
		m.Actions = append(m.Actions, a)
	}
	if _, err := store.Persist(ctx, []storage.Message{m}, nil); err != nil {
		t.Fatal(err)
	}
}

// folderOf returns a folder, or nil if it does not exist.
func folderOf(t *testing.T, store *sqlite.Store, key storage.FolderKey) *storage.Folder {
	t.Helper()
	found, err := store.FoldersOf(t.Context(), []storage.FolderKey{key})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func TestDeletedFolderIsEmptiedFirst(t *testing.T) {
	for _, c := range []struct {
		name  string
		items int
		move  bool
	}{
		{"empty", 0, true},
		{"items moved", 3, true},
		{"items uncollected", 3, false},
		{"more items moved than one part holds", 1200, true},
		{"as many uncollected as one part holds", 1000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := openStore(t)
			old, other := newFolder(t, store, "old", c.items), newFolder(t, store, "other", 1)
			moveTo := ""
			if c.move {
				moveTo = other.FolderID
			}
			owner := &busyOwner{store, t, 0}
			items, err := worker.NewFolders(owner, time.Now).DeleteFolder(t.Context(), old, moveTo)
			if owner.times != -1 {
				t.Errorf("deleting was tried %d times, want once, when the folder is empty", -owner.times)
			}
			if err != nil || items != c.items {
				t.Fatalf("took %d items, %v; want %d", items, err, c.items)
			}
			if folderOf(t, store, old) != nil {
				t.Error("the deleted folder is still there")
			}
			moved := 0
			if c.move {
				moved = c.items
			}
			if got := folderOf(t, store, other).ItemCount; got != int64(1+moved) {
				t.Errorf("the other folder has %d items, want %d", got, 1+moved)
			}
			if c.items > 0 {
				if got, want := countsOf(t, store, video("old0")).CollectCount, int64(min(moved, 1)); got != want {
					t.Errorf("an item of the folder is collected %d times, want %d", got, want)
				}
			}
			verify(t, store)
		})
	}
}

func TestFolderIsKeptWhereDeletingIsRefused(t *testing.T) {
	store := openStore(t)
	key := newFolder(t, store, "mine", 2)
	theirs := storage.FolderKey{Owner: user(1), FolderID: key.FolderID}
	f := worker.NewFolders(store, time.Now)
	for _, c := range []struct {
		name   string
		key    storage.FolderKey
		moveTo string
		want   error
	}{
		{"the default folder", storage.FolderKey{Owner: alice, FolderID: storage.DefaultFolderID}, "", storage.ErrDefaultFolder},
		{"into itself", key, key.FolderID, storage.ErrInvalid},
		{"into none", key, "00000000-0000-0000-0000-000000000000", storage.ErrNotFound},
		{"no such folder", storage.FolderKey{Owner: alice, FolderID: "x"}, "", storage.ErrNotFound},
		{"somebody else's", theirs, "", storage.ErrNotFound},
	} {
		if items, err := f.DeleteFolder(t.Context(), c.key, c.moveTo); items != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: took %d items, %v; want %v", c.name, items, err, c.want)
		}
	}
	var invalid *storage.InvalidError
	if _, err := f.DeleteFolder(t.Context(), key, key.FolderID); !errors.As(err, &invalid) || invalid.Field != "moveItemsTo" {
		t.Errorf("moving the items into the folder itself: got %v, want an invalid moveItemsTo", err)
	}
	if got := folderOf(t, store, key); got == nil || got.ItemCount != 2 {
		t.Errorf("got the folder %+v, want it with its 2 items", got)
	}
}

// busyOwner is a store that collects an item into a folder just before the folder is
// deleted, the given number of times.
type busyOwner struct {
	*sqlite.Store

	t     *testing.T
	times int
}

func (o *busyOwner) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) error {
	if o.times > 0 {
		fill(ctx, o.t, o.Store, key, "late"+strconv.Itoa(o.times), 1)
	}
	o.times--
	return o.Store.DeleteFolder(ctx, key, moveTo, at)
}

func TestFolderThatFillsUpIsEmptiedAgain(t *testing.T) {
	for _, c := range []struct {
		times int
		want  error
	}{{3, nil}, {1000, storage.ErrFolderNotEmpty}} {
		store := openStore(t)
		key := newFolder(t, store, "popular", 1)
		f := worker.NewFolders(&busyOwner{store, t, c.times}, time.Now)
		items, err := f.DeleteFolder(t.Context(), key, storage.DefaultFolderID)
		if !errors.Is(err, c.want) || (c.want == nil && items != 1+c.times) {
			t.Errorf("filled %d times: took %d items, %v; want %v", c.times, items, err, c.want)
		}
		verify(t, store)
	}
}

// verify fails the test unless every count equals the number of rows that it counts.
func verify(t rapid.TB, store storage.Verifier) {
	t.Helper()
	_, err := store.Verify(context.Background(), false, func(d storage.Difference) error {
		return fmt.Errorf("%+v", d)
	})
	if err != nil {
		t.Errorf("Verify: got the difference %v, want exact counts", err)
	}
}
