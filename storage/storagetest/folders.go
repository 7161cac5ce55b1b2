package storagetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ovation/storage"
)

func createFolder(w *world) {
	alice := user("alice")
	want := storage.Folder{Owner: alice, Name: "Films", Description: "to\nsee", Public: true, Created: 7, Updated: 7}
	asked := want
	asked.FolderID, asked.ItemCount, asked.Updated = "chosen", 5, 3 // these are ignored
	got, err := w.s.CreateFolder(w.Context(), asked)
	w.must(err)
	if got.FolderID == "chosen" || got.FolderID == "" || len(got.FolderID) > storage.MaxFolderIDBytes {
		w.Errorf("got the folder id %q, want a new one of 1 to %d bytes", got.FolderID, storage.MaxFolderIDBytes)
	}
	want.FolderID = got.FolderID
	w.equal("the folder returned", *got, want)
	w.equal("the folder stored", *w.folder(got.Key()), want)
	w.equal("the default folder's name", w.folder(defaultOf(alice)).Name, storage.DefaultFolderName)

	for _, bad := range []storage.Folder{
		{Owner: alice, Created: 1},
		{Owner: alice, Name: " Films", Created: 1},
		{Owner: alice, Name: strings.Repeat("é", storage.MaxFolderNameRunes+1), Created: 1},
		{Owner: alice, Name: "Long", Description: strings.Repeat("é", storage.MaxFolderDescriptionLen+1), Created: 1},
		{Owner: user(""), Name: "Nobody's", Created: 1},
	} {
		_, err := w.s.CreateFolder(w.Context(), bad)
		w.wantError(fmt.Sprintf("CreateFolder(%+v)", bad), err, storage.ErrInvalid)
	}
	w.newFolder(alice, strings.Repeat("é", storage.MaxFolderNameRunes))
}

func folderNamesAreUnique(w *world) {
	alice := user("alice")
	films := w.newFolder(alice, "Films")
	books := w.newFolder(alice, "Straße")
	w.newFolder(user("bob"), "Films") // names are unique per user
	for _, taken := range []string{"Films", "films", "FILMS", "STRASSE", "straße", "STRAẞE", storage.DefaultFolderName, "DEFAULT"} {
		_, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: alice, Name: taken, Created: 2})
		w.wantError(fmt.Sprintf("creating a folder %q beside others of that name", taken), err, storage.ErrNameTaken)
	}
	rename := func(f *storage.Folder, name string) error {
		_, err := w.s.UpdateFolder(w.Context(), f.Key(), storage.FolderChange{Name: &name}, storage.Time(3))
		return err
	}
	w.wantError("renaming to a name that is taken", rename(books, "fILMS"), storage.ErrNameTaken)
	w.must(rename(films, "fILMS")) // the same name in another case
	w.must(rename(films, "Movies"))
	w.must(rename(books, "Films"))
	w.must(w.s.DeleteFolder(w.Context(), books.Key(), "", storage.Time(1)))
	w.newFolder(alice, "films") // the name is free again

	// A rejected first folder leaves nothing behind.
	carol := user("carol")
	_, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: carol, Name: "default", Created: 1})
	w.wantError("a first folder with the name of the default folder", err, storage.ErrNameTaken)
	lists, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: carol, Page: storage.Page{First: 5}}})
	w.must(err)
	w.equal("folders of carol", len(lists[0].Entries), 0)
}

// folderKeysOfAnEarlierRule checks that names are unique beside folders whose stored keys
// follow an earlier rule, and that such folders stay usable even if two have the same name.
func folderKeysOfAnEarlierRule(w *world) {
	alice := user("alice")
	w.newFolder(alice, "First") // also creates the default folder
	for i, of := range [][2]string{{"Straße", "straße"}, {"STRASSE", "strasse"}, {"A\u030angström", "a\u030angström"}, {"ı", "i"}} {
		w.db.Edit(w.T, fmt.Sprintf(`INSERT INTO folder
			(tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
			VALUES ('default', 'alice', 'folder-%d', '%s', '%s', '', FALSE, 0, %[1]d, %[1]d)`, i, of[0], of[1]))
	}
	for _, taken := range []string{"STRAẞE", "straße", "strasse", "ÅNGSTRÖM", "ı"} {
		_, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: alice, Name: taken, Created: 9})
		w.wantError(fmt.Sprintf("creating a folder %q beside one of that name", taken), err, storage.ErrNameTaken)
	}
	update := func(id string, change storage.FolderChange) error {
		_, err := w.s.UpdateFolder(w.Context(), storage.FolderKey{Owner: alice, FolderID: id}, change, storage.Time(10))
		return err
	}
	// Without a new name, the two folders of one name can be changed.
	w.must(update("folder-0", storage.FolderChange{Name: new("Straße")}))
	w.must(update("folder-0", storage.FolderChange{Public: new(true)}))
	w.must(update("folder-0", storage.FolderChange{Name: new("Straße"), Description: new("old"), Public: new(false)}))
	w.must(update("folder-1", storage.FolderChange{Name: new("STRASSE"), Public: new(true)}))
	w.equal("the description", w.folder(storage.FolderKey{Owner: alice, FolderID: "folder-0"}).Description, "old")
	rename := func(id, name string) error { return update(id, storage.FolderChange{Name: &name}) }
	w.wantError("renaming a folder to its name in another case, which another has", rename("folder-0", "STRAßE"), storage.ErrNameTaken)
	w.wantError("renaming a folder to a name that two others have", rename("folder-2", "strasse"), storage.ErrNameTaken)
	w.must(rename("folder-2", "Ångström")) // its own name
	w.must(rename("folder-0", "Weg"))
	w.must(rename("folder-1", "Straße"))
	w.newFolder(alice, "Weg 2")
}

func foldersAreBounded(w *world) {
	alice := user("alice")
	w.newFolder(alice, "First") // also creates the default folder
	w.db.Edit(w.T, `INSERT INTO folder
		(tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+strconv.Itoa(storage.MaxFolders-3)+`)
		SELECT 'default', 'alice', 'folder-' || i, 'Folder ' || i, 'folder ' || i, '', FALSE, 0, i, i FROM n`)
	last := w.newFolder(alice, "Last")
	_, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: alice, Name: "One more", Created: 1})
	w.wantError("one folder too many", err, storage.ErrTooManyFolders)
	w.newFolder(user("bob"), "One more")
	w.must(w.s.DeleteFolder(w.Context(), last.Key(), "", storage.Time(1)))
	w.newFolder(alice, "One more")
}

func updateFolder(w *world) {
	alice := user("alice")
	f := w.newFolder(alice, "Films")
	name, description, public := "Movies", "all of them", true
	update := func(key storage.FolderKey, change storage.FolderChange, at int64) (*storage.Folder, error) {
		return w.s.UpdateFolder(w.Context(), key, change, storage.Time(at))
	}
	got, err := update(f.Key(), storage.FolderChange{Name: &name}, 10)
	w.must(err)
	w.equal("the folder renamed", *got, storage.Folder{Owner: alice, FolderID: f.FolderID, Name: name, Created: 1, Updated: 10})
	got, err = update(f.Key(), storage.FolderChange{Description: &description, Public: &public}, 20)
	w.must(err)
	want := storage.Folder{
		Owner: alice, FolderID: f.FolderID, Name: name, Description: description, Public: true, Created: 1, Updated: 20,
	}
	w.equal("the folder described and published", *got, want)
	got, err = update(f.Key(), storage.FolderChange{}, 30)
	w.must(err)
	w.equal("the folder after no change", *got, want)
	got, err = update(f.Key(), storage.FolderChange{Name: &name}, 30)
	w.must(err)
	w.equal("the folder after a change to the same name", *got, want)
	w.equal("the folder stored", *w.folder(f.Key()), want)

	bad := "\x00"
	_, err = update(f.Key(), storage.FolderChange{Name: &bad}, 40)
	w.wantError("a name that is invalid", err, storage.ErrInvalid)
	_, err = update(storage.FolderKey{Owner: alice, FolderID: "gone"}, storage.FolderChange{Name: &name}, 40)
	w.wantError("a change of an unknown folder", err, storage.ErrNotFound)
	_, err = update(storage.FolderKey{Owner: user("bob"), FolderID: f.FolderID}, storage.FolderChange{Name: &name}, 40)
	w.wantError("a change of another user's folder", err, storage.ErrNotFound)
	w.equal("the folder stored after invalid changes", *w.folder(f.Key()), want)
}

func defaultFolderIsMadeOnDemand(w *world) {
	alice, bob := user("alice"), user("bob")
	listed := func(owner storage.User) int {
		got, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: owner, Page: storage.Page{First: 5}}})
		w.must(err)
		return len(got[0].Entries)
	}
	got := w.folder(defaultOf(alice))
	if got == nil || !got.Default() || got.Name != storage.DefaultFolderName || got.Created == 0 {
		w.Fatalf("the default folder before the first collection: got %+v, want %q, with a time of creation", got, storage.DefaultFolderName)
	}
	w.equal("folders listed initially", listed(alice), 0)

	w.persist(Collect(alice, video("1"), storage.DefaultFolderID, 10))
	w.equal("items", w.folder(defaultOf(alice)).ItemCount, int64(1))
	w.equal("folders listed after the first collection", listed(alice), 1)

	// The default folder can be renamed even before it is created, which frees its name.
	name := "Favourites"
	_, err := w.s.UpdateFolder(w.Context(), defaultOf(bob), storage.FolderChange{Name: &name}, storage.Time(20))
	w.must(err)
	w.newFolder(bob, storage.DefaultFolderName)
	w.persist(Collect(bob, video("1"), storage.DefaultFolderID, 30))
	renamed := w.folder(defaultOf(bob))
	w.equal("the default folder", *renamed,
		storage.Folder{Owner: bob, FolderID: storage.DefaultFolderID, Name: name, ItemCount: 1, Created: renamed.Created, Updated: 20})
	w.equal("folders of bob", listed(bob), 2)
	w.verified()
}

func collectionsOfDeletedFoldersGoToTheDefault(w *world) {
	alice, bob := user("alice"), user("bob")
	f, foreign := w.newFolder(alice, "Films"), w.newFolder(bob, "Films")
	w.must(w.s.DeleteFolder(w.Context(), f.Key(), "", storage.Time(1)))
	outcome := w.persist(
		Collect(alice, video("1"), f.FolderID, 10),
		Collect(alice, video("2"), "never was", 11),
		Collect(alice, video("3"), foreign.FolderID, 12),
	)
	for i, change := range outcome.Applied {
		w.equal("the folder in the outcome", change.FolderID, storage.DefaultFolderID)
		w.equal("the folder stored", w.states(alice, video(strconv.Itoa(i+1))).Collected.FolderID, storage.DefaultFolderID)
	}
	w.equal("items", w.folder(defaultOf(alice)).ItemCount, int64(3))
	w.equal("items of the other's folder", w.folder(foreign.Key()).ItemCount, int64(0))

	// A user can lack a default folder if the database was edited by hand.
	w.db.Edit(w.T, `DELETE FROM folder WHERE folder_id = 'default' AND user_id = 'bob'`)
	w.newFolderNamedLikeTheDefault(bob)
	w.db.Edit(w.T, `DELETE FROM folder WHERE folder_id = 'default' AND user_id = 'bob'`)
	w.persist(Collect(bob, video("1"), "gone", 13))
	w.equal("items of a default folder whose name was taken", w.folder(defaultOf(bob)).ItemCount, int64(1))
	w.verified()
}

func collectionsFollowTheItemsOfDeletedFolders(w *world) {
	alice := user("alice")
	at := storage.Time
	first, second, third, dropped := w.newFolder(alice, "First"), w.newFolder(alice, "Second"), w.newFolder(alice, "Third"), w.newFolder(alice, "Dropped")
	w.wantError("deleting a folder and moving its items into it", w.s.DeleteFolder(w.Context(), first.Key(), first.FolderID, at(100)), storage.ErrInvalid)
	w.must(w.s.DeleteFolder(w.Context(), first.Key(), second.FolderID, at(100)))
	w.must(w.s.DeleteFolder(w.Context(), dropped.Key(), "", at(100)))
	again := w.newFolder(alice, "First") // the same name, but another folder

	w.persist(Collect(alice, video("there"), dropped.FolderID, 200))
	where := func(name, bizID, folder string, version int64) {
		w.Helper()
		got := w.states(alice, video(bizID))
		id := ""
		if got.Collected != nil {
			id = got.Collected.FolderID
		}
		w.equal(name, []any{id, got.CollectionVersion}, []any{folder, version})
	}
	where("collected after the deletion", "there", storage.DefaultFolderID, 200)

	outcome := w.persist(
		Collect(alice, video("moved"), first.FolderID, 50), Collect(alice, video("dropped"), dropped.FolderID, 60),
		Collect(alice, video("late"), first.FolderID, 100), Collect(alice, video("there"), dropped.FolderID, 150),
	)
	where("collected before the deletion", "moved", second.FolderID, 50)
	where("collected before its folder was dropped", "dropped", "", 60)
	where("collected at the deletion", "late", storage.DefaultFolderID, 100)
	where("older than what is known", "there", storage.DefaultFolderID, 200)
	w.equal("the folders in the outcome", []string{
		outcome.Applied[0].FolderID, outcome.Applied[1].FolderID, outcome.Applied[2].FolderID, outcome.Applied[3].FolderID,
	}, []string{"", storage.DefaultFolderID, second.FolderID, storage.DefaultFolderID})
	w.equal("items of the second, the new first and the default folder", []int64{w.folder(second.Key()).ItemCount, w.folder(again.Key()).ItemCount, w.folder(defaultOf(alice)).ItemCount}, []int64{1, 0, 2})

	// A later action wins over the collection, whichever of the two arrives first.
	w.persist(Collect(alice, video("moved"), "", 51))
	where("uncollected before the deletion", "moved", "", 51)

	// Several folders are deleted one after another. In the end, the record of the last
	// deletion is missing.
	w.must(w.s.DeleteFolder(w.Context(), second.Key(), third.FolderID, at(110)))
	w.persist(Collect(alice, video("chain"), first.FolderID, 70))
	where("collected two deletions before", "chain", third.FolderID, 70)
	_, _, err := w.s.EmptyFolder(w.Context(), third.Key(), "", at(115), 9, nil)
	w.must(err)
	w.must(w.s.DeleteFolder(w.Context(), third.Key(), "", at(120)))
	w.persist(Collect(alice, video("chain end"), first.FolderID, 71))
	where("collected three deletions before", "chain end", "", 71)
	w.db.Edit(w.T, `DELETE FROM deleted_folder WHERE folder_id = '`+third.FolderID+`'`)
	w.persist(Collect(alice, video("lost"), first.FolderID, 72))
	where("where the trace is lost", "lost", storage.DefaultFolderID, 72)

	// The record of a deleted folder has no effect for another user, or after it was
	// pruned.
	w.persist(Collect(user("bob"), video("bob's"), first.FolderID, 50))
	w.equal("the folder of bob's collection", w.states(user("bob"), video("bob's")).Collected.FolderID, storage.DefaultFolderID)
	w.db.Edit(w.T, fmt.Sprintf(`UPDATE deleted_folder SET version = %d WHERE folder_id = '%s'`,
		storage.Micros(time.Now().Add(time.Hour)), second.FolderID))
	_, err = w.s.Prune(w.Context(), 0)
	w.must(err)
	w.persist(Collect(alice, video("pruned"), first.FolderID, 50), Collect(alice, video("kept"), second.FolderID, 50))
	where("once the deletion is forgotten", "pruned", storage.DefaultFolderID, 50)
	where("a deletion that is not forgotten yet", "kept", storage.DefaultFolderID, 50)
	w.verified()
}

// newFolderNamedLikeTheDefault renames the default folder and creates another folder with
// the name that has become free.
func (w *world) newFolderNamedLikeTheDefault(owner storage.User) {
	w.Helper()
	name := "Renamed"
	_, err := w.s.UpdateFolder(w.Context(), defaultOf(owner), storage.FolderChange{Name: &name}, storage.Time(2))
	w.must(err)
	w.newFolder(owner, storage.DefaultFolderName)
}

func emptyFolderInChunks(w *world) {
	alice, s := user("alice"), video("0")
	f := w.newFolder(alice, "Films")
	for i := range 7 {
		w.persist(Collect(alice, video(strconv.Itoa(i)), f.FolderID, int64(10+i)))
	}
	w.persist(Collect(user("bob"), s, storage.DefaultFolderID, 1))
	left := int64(7)
	for _, want := range []int{3, 3, 1, 0} {
		n, outcome, err := w.s.EmptyFolder(w.Context(), f.Key(), "", storage.Time(13), 3, nil)
		w.must(err)
		w.equal("items taken", n, want)
		w.equal("states in the outcome", len(outcome.Applied), want)
		w.equal("counts in the outcome", len(outcome.Counts), want)
		left -= int64(want)
		w.equal("items left", w.folder(f.Key()).ItemCount, left)
		for _, change := range outcome.Applied {
			got := w.states(alice, change.Subject)
			w.equal("the collection taken out", got.Collected, nil)
			w.equal("the version in the outcome", change.Version, got.CollectionVersion)
			w.equal("the folder in the outcome", []string{change.OldFolderID, change.FolderID}, []string{f.FolderID, ""})
		}
	}
	for i := range 7 {
		w.equal("the version of a collection taken out", w.states(alice, video(strconv.Itoa(i))).CollectionVersion, int64(11+i))
	}
	w.wantCounts(s, 0, 0, 0, 1)
	w.wantCounts(video("1"), 0, 0, 0, 0)

	for _, key := range []storage.FolderKey{{Owner: alice, FolderID: "gone"}, {Owner: user("bob"), FolderID: f.FolderID}} {
		_, _, err := w.s.EmptyFolder(w.Context(), key, "", storage.Time(1), 1, nil)
		w.wantError(fmt.Sprintf("EmptyFolder(%+v)", key), err, storage.ErrNotFound)
	}
	w.verified()
}

func emptyFolderMovesItems(w *world) {
	alice, s := user("alice"), video("1")
	from, to := w.newFolder(alice, "From"), w.newFolder(alice, "To")
	foreign := w.newFolder(user("bob"), "To")
	w.persist(Collect(alice, s, from.FolderID, 10))
	version := w.counts(s).Version

	_, _, err := w.s.EmptyFolder(w.Context(), from.Key(), "gone", storage.Time(20), 5, nil)
	w.wantError("moving items to an unknown folder", err, storage.ErrNotFound)
	_, _, err = w.s.EmptyFolder(w.Context(), from.Key(), foreign.FolderID, storage.Time(20), 5, nil)
	w.wantError("moving items to another user's folder", err, storage.ErrNotFound)
	_, _, err = w.s.EmptyFolder(w.Context(), from.Key(), from.FolderID, storage.Time(20), 5, nil)
	w.wantError("moving items to the folder itself", err, storage.ErrInvalid)
	w.equal("the folder after the refusals", w.states(alice, s).Collected.FolderID, from.FolderID)

	n, outcome, err := w.s.EmptyFolder(w.Context(), from.Key(), to.FolderID, storage.Time(20), 5, nil)
	w.must(err)
	w.equal("items taken", n, 1)
	w.equal("the state in the outcome", outcome.Applied, []storage.StateChange{{
		User: alice, Subject: s, Kind: storage.KindCollection, OldFolderID: from.FolderID, FolderID: to.FolderID, Version: 11,
	}})
	w.equal("the counts in the outcome", outcome.Counts, []storage.SubjectCounts{{Subject: s, Counts: storage.Counts{CollectCount: 1, Version: version + 1}}})
	w.equal("the collection afterwards", *w.states(alice, s).Collected,
		storage.Collected{User: alice, Subject: s, FolderID: to.FolderID, Version: 11})
	w.equal("items of both folders", []int64{w.folder(from.Key()).ItemCount, w.folder(to.Key()).ItemCount}, []int64{0, 1})

	// Items also move into the default folder and out of it.
	n, _, err = w.s.EmptyFolder(w.Context(), to.Key(), storage.DefaultFolderID, storage.Time(30), 5, nil)
	w.must(err)
	w.equal("items taken to the default folder", n, 1)
	n, _, err = w.s.EmptyFolder(w.Context(), defaultOf(alice), to.FolderID, storage.Time(40), 5, nil)
	w.must(err)
	w.equal("items taken out of the default folder", n, 1)
	w.verified()
}

// emptyFolderOvertakesNothing checks that an action takes effect if it was sent before
// the folder was emptied, but is persisted afterwards.
func emptyFolderOvertakesNothing(w *world) {
	alice, moved, dropped := user("alice"), video("1"), video("2")
	from, to, other := w.newFolder(alice, "From"), w.newFolder(alice, "To"), w.newFolder(alice, "Other")
	w.persist(Collect(alice, moved, from.FolderID, 10), Collect(alice, dropped, from.FolderID, 10))
	_, _, err := w.s.EmptyFolder(w.Context(), from.Key(), to.FolderID, storage.Time(100), 5, nil)
	w.must(err)
	w.persist(Collect(alice, moved, other.FolderID, 50), Collect(alice, dropped, "", 50))
	w.equal("the folder it was moved to meanwhile", w.states(alice, moved).Collected.FolderID, other.FolderID)
	w.equal("the collection dropped meanwhile", w.states(alice, dropped).Collected, nil)
	w.verified()
}

// deleteFoldersCrosswise checks that a folder cannot be the target of a deletion once it
// is deleted itself, so that two deleted folders never refer to each other.
func deleteFoldersCrosswise(w *world) {
	alice := user("alice")
	one, two := w.newFolder(alice, "One"), w.newFolder(alice, "Two")
	w.must(w.s.DeleteFolder(w.Context(), one.Key(), two.FolderID, storage.Time(100)))
	w.wantError("deleting a folder and moving its items to a deleted one", w.s.DeleteFolder(w.Context(), two.Key(), one.FolderID, storage.Time(100)), storage.ErrNotFound)
	w.equal("the second folder is kept", w.folder(two.Key()) != nil, true)
	w.persist(Collect(alice, video("1"), one.FolderID, 50))
	w.equal("the folder of a late collection", w.states(alice, video("1")).Collected.FolderID, two.FolderID)
	w.verified()
}

func deleteFolder(w *world) {
	alice, s := user("alice"), video("1")
	f := w.newFolder(alice, "Films")
	w.persist(Collect(alice, s, f.FolderID, 10))
	w.wantError("deleting a folder with an item", w.s.DeleteFolder(w.Context(), f.Key(), "", storage.Time(1)), storage.ErrFolderNotEmpty)
	w.equal("items", w.folder(f.Key()).ItemCount, int64(1))
	w.wantError("deleting the default folder", w.s.DeleteFolder(w.Context(), defaultOf(alice), "", storage.Time(1)), storage.ErrDefaultFolder)
	w.wantError("deleting the default folder of an unknown user", w.s.DeleteFolder(w.Context(), defaultOf(user("nobody")), "", storage.Time(1)), storage.ErrDefaultFolder)
	w.wantError("deleting another user's folder", w.s.DeleteFolder(w.Context(), storage.FolderKey{Owner: user("bob"), FolderID: f.FolderID}, "", storage.Time(1)), storage.ErrNotFound)
	w.persist(Collect(alice, s, "", 11))
	w.must(w.s.DeleteFolder(w.Context(), f.Key(), "", storage.Time(1)))
	w.equal("the deleted folder", w.folder(f.Key()), nil)
	w.wantError("deleting a deleted folder", w.s.DeleteFolder(w.Context(), f.Key(), "", storage.Time(1)), storage.ErrNotFound)
	w.verified()
}

func defaultOf(owner storage.User) storage.FolderKey {
	return storage.FolderKey{Owner: owner, FolderID: storage.DefaultFolderID}
}
