package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

const folderHeader = "user,subject,event,time,folder\n"

func folderMapping() Mapping {
	m := testMapping()
	m.Folder = "folder"
	return m
}

// filed returns the folders of a user, oldest first, with their items: "Name: 1 2".
func filed(t *testing.T, store storage.Store, tenant, user string) []string {
	t.Helper()
	owner := storage.User{Tenant: tenant, UserID: user}
	lists, err := store.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: owner, Page: storage.Page{First: 2 * storage.MaxFolders}}})
	must.Succeed(t, err)
	var out []string
	for _, f := range slices.Backward(lists[0].Entries) {
		items, err := store.Items(t.Context(), []storage.ItemsQuery{{Folder: f.Key(), Page: storage.Page{First: 100}}})
		must.Succeed(t, err)
		line := f.Name + ":"
		for _, item := range slices.Backward(items[0].Entries) {
			line += " " + item.Subject.BizID
		}
		if int(f.ItemCount) != len(items[0].Entries) {
			t.Errorf("the folder %q has the item count %d, want %d", f.Name, f.ItemCount, len(items[0].Entries))
		}
		if !f.Default() {
			out = append(out, line)
		} else {
			out = append([]string{line}, out...)
		}
	}
	return out
}

func wantFiled(t *testing.T, store storage.Store, user string, want ...string) {
	t.Helper()
	if got := filed(t, store, storage.DefaultTenant, user); !slices.Equal(got, want) {
		t.Errorf("%s has the folders %q, want %q", user, got, want)
	}
}

// TestItemsKeepTheirFolders imports items of folders, and a grown file after the users have
// changed their folders.
func TestItemsKeepTheirFolders(t *testing.T) {
	store := openStore(t)
	o := Options{Mapping: folderMapping(), FolderNames: map[string]string{"7": "Later", "8": "later", "9": "default", "10": strings.Repeat("x", 101)}}
	rows := folderHeader +
		"ann,1,collect,1500000010,7\n" +
		"ann,2,collect,1500000005,7\n" +
		"bob,1,collect,1500000010,7\n" + // of another user
		"ann,3,collect,1500000020,8\n" + // of the same name
		"ann,4,collect,1500000030,Music\n" + // without a name
		"ann,5,collect,1500000030,9\n" + // the default folder's name
		"ann,6,collect,1500000031,0\n" +
		"ann,7,collect,1500000032,NULL\n" +
		"ann,8,collect,1500000033,10\n" + // too long
		"bob,2,collect,1500000040,Music\n" +
		"bob,2,uncollect,1500000041,Music\n" +
		"bob,3,collect,1500000042,Music\n" +
		"bob,3,collect,1500000043,7\n" + // moved
		"bob,3,like,1500000043,10\n"
	for _, imported := range []int64{13, 0} {
		got, err := importText(t, store, o, rows)
		must.Succeed(t, err)
		if got.Already != 13-imported || got.Bad != 1 || got.BadRows[0].Error() != `line 10: column "folder", "10": name is 101 characters long; at most 100 are allowed` {
			t.Fatalf("got %+v, want %d imported rows and a bad one", got, imported)
		}
		wantFiled(t, store, "ann", "Default: 5 6 7", "Later: 2 1", "later (2): 3", "Music: 4")
		wantFiled(t, store, "bob", "Default:", "Later: 1 3")
	}

	ann := storage.User{Tenant: storage.DefaultTenant, UserID: "ann"}
	later, music := storage.FolderKey{Owner: ann, FolderID: folder{value: "7"}.id(ann)}, storage.FolderKey{Owner: ann, FolderID: folder{value: "Music"}.id(ann)}
	found, err := store.FoldersOf(t.Context(), []storage.FolderKey{later})
	must.Succeed(t, err)
	if got := found[0].CreatedAt().Unix(); got != 1500000005 || found[0].Updated != found[0].Created {
		t.Errorf("the folder was created at %d, want the time of its first item", got)
	}
	name := "Renamed"
	_, err = store.UpdateFolder(t.Context(), later, storage.FolderChange{Name: &name}, storage.Time(1600000000e6))
	must.Succeed(t, err)
	_, _, err = store.EmptyFolder(t.Context(), music, "", storage.Time(1600000000e6), 10, nil)
	must.Succeed(t, err)
	must.Succeed(t, store.DeleteFolder(t.Context(), music, "", storage.Time(1600000000e6)))
	for range 2 {
		_, err = importText(t, store, o, rows+"ann,9,collect,1700000000,7\n")
		must.Succeed(t, err)
		wantFiled(t, store, "ann", "Default: 5 6 7", "Renamed: 2 1 9", "later (2): 3")
	}
	verifyNone(t, store)
}

// TestFoldersAreMadeOnceDespiteInterruptions kills an import before and after each of its
// transactions and resumes it.
func TestFoldersAreMadeOnceDespiteInterruptions(t *testing.T) {
	store := openStore(t)
	var rows strings.Builder
	rows.WriteString(folderHeader)
	for i := range 12 {
		fmt.Fprintf(&rows, "ann,%d,collect,%d,%d\n", i+1, 1500000000+i, 1+i%3)
	}
	src := func() *Source {
		s, err := Open(t.Context(), "-", strings.NewReader(rows.String()), "csv")
		must.Succeed(t, err)
		return s
	}
	kills := 0
	for lives := range 10 {
		for _, after := range []bool{false, true} {
			tenant := fmt.Sprintf("t%d-%v", lives, after)
			for _, to := range []Store{&killed{Store: store, lives: lives, after: after}, store, store} {
				p, err := newParser(src(), Options{Mapping: folderMapping(), Tenant: tenant, block: 8})
				must.Succeed(t, err)
				err = pipe(t.Context(), p, &writer{to: to, group: 3})
				if errors.Is(err, errKilled) {
					kills++
				} else {
					must.Succeed(t, err)
				}
			}
			if got, want := filed(t, store, tenant, "ann"), []string{"Default:", "1: 1 4 7 10", "2: 2 5 8 11", "3: 3 6 9 12"}; !slices.Equal(got, want) {
				t.Errorf("killed at transaction %d (after its commit: %v): there are the folders %q, want %q", lives, after, got, want)
			}
		}
	}
	if kills < 10 {
		t.Errorf("the import was killed %d times, want a kill for each transaction", kills)
	}
	verifyNone(t, store)
}

// TestUsersGetNoMoreFoldersThanTheyMayHave imports items into more folders than a user may
// have. Items of further folders go to the default one and are counted.
func TestUsersGetNoMoreFoldersThanTheyMayHave(t *testing.T) {
	store := openStore(t)
	ann := storage.User{Tenant: storage.DefaultTenant, UserID: "ann"}
	var part storage.Archive
	for i := range storage.MaxFolders - 3 {
		part.Folders = append(part.Folders, storage.Folder{Owner: ann, FolderID: fmt.Sprint("f", i), Name: fmt.Sprint("Folder ", i), Created: 1, Updated: 1})
	}
	_, err := store.Restore(t.Context(), &part, nil)
	must.Succeed(t, err)
	rows := folderHeader
	for i := range 5 {
		rows += fmt.Sprintf("ann,%d,collect,150000000%d,new %d\nbob,%d,collect,1500000000,new\n", i, i, i, i)
	}
	got, err := importText(t, store, Options{Mapping: folderMapping()}, rows)
	must.Succeed(t, err)
	folders := filed(t, store, storage.DefaultTenant, "ann")
	if len(folders) != storage.MaxFolders || got.Unfiled != 3 || !strings.HasPrefix(folders[0], "Default: ") || strings.Count(folders[0], " ") != 3 {
		t.Errorf("there are %d folders and %d unfiled items, in %q; want %d folders and 3 items", len(folders), got.Unfiled, folders[0], storage.MaxFolders)
	}
	wantFiled(t, store, "bob", "Default:", "new: 0 1 2 3 4")
	verifyNone(t, store)
}

// TestFolderNames reads tables of folders.
func TestFolderNames(t *testing.T) {
	for text, want := range map[string]string{
		"id,name,uid\n7, Later ,1\n8,\"Music, loud\",2\n8,\"Music, loud\",2\n9,NULL,2\n": `map["7":"Later" "8":"Music, loud"]`,
		`{"id": 7, "name": "Later"}`:  `map["7":"Later"]`,
		"id;name\n7;Later\n7;Music\n": `line 3: the folder "7" has the names "Later" and "Music"`,
		"id,name\n7,Later,more\n":     `line 2: has 3 fields where the header has 2`,
		"id,title\n7,Later\n":         `the header, split at each comma, has no column "name"; it has "id", "title"`,
	} {
		src, err := Open(t.Context(), writeFile(t, "folders", text), nil, "")
		must.Succeed(t, err)
		names, err := ReadFolderNames(src)
		must.Succeed(t, src.Close())
		got := fmt.Sprintf("%q", names)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
