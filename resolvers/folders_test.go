package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// newFolder makes a folder and returns its id.
func (s *service) newFolder(t *testing.T, user, name string, public bool) string {
	t.Helper()
	data := s.ok(t, user, `mutation($in: CreateFolderInput!) { createFolder(input: $in) { folder { id } } }`,
		"in", map[string]any{"name": name, "public": public})
	return dig(t, data, "createFolder", "folder", "id").(string)
}

// put collects a video into a folder.
func (s *service) put(t *testing.T, user, bizID, folder string) {
	t.Helper()
	s.ok(t, user, `mutation($id: ID!, $f: ID) { collect(input: {biz: "video", bizId: $id, folderId: $f}) { changed } }`,
		"id", bizID, "f", folder)
}

// names lists the names and item counts of alice's folders.
func (s *service) names(t *testing.T) string {
	t.Helper()
	var out []string
	for _, edge := range dig(t, s.ok(t, "alice", `{ viewer { folders { edges { node { name itemCount } } } } }`), "viewer", "folders", "edges").([]any) {
		out = append(out, fmt.Sprint(dig(t, edge, "node", "name"), " ", dig(t, edge, "node", "itemCount")))
	}
	return strings.Join(out, ", ")
}

func TestDefaultFolderIsMadeWithTheFirstCollection(t *testing.T) {
	s := start(t)
	if got := s.names(t); got != "" {
		t.Errorf("a new user: got the folders %q, want none", got)
	}
	data := s.ok(t, "alice", `mutation { collect(input: {biz: "video", bizId: "1"}) { interactive { collected {
		folder { id name default public description itemCount owner { userId } } } } } }`)
	folder := dig(t, data, "collect", "interactive", "collected", "folder").(map[string]any)
	id := folder["id"]
	delete(folder, "id")
	same(t, folder, `{"name":"Default","default":true,"public":false,"description":"","itemCount":1,"owner":{"userId":"alice"}}`)

	data = s.ok(t, "alice", `mutation($id: ID!) { updateFolder(input: {id: $id, name: "Keep", public: true}) { folder { id name default public itemCount } } }`, "id", id)
	same(t, dig(t, data, "updateFolder", "folder"), fmt.Sprintf(`{"id":%q,"name":"Keep","default":true,"public":true,"itemCount":1}`, id))
	if got := s.refused(t, "BAD_USER_INPUT", "alice", `mutation($id: ID!) { deleteFolder(input: {id: $id}) { deletedId } }`, "id", id); !strings.Contains(got, "default folder") {
		t.Errorf("deleting the default folder: got %q, want a mention of the default folder", got)
	}
}

func TestFolderIsCreatedChangedAndFetched(t *testing.T) {
	s := start(t)
	data := s.ok(t, "alice", `mutation { createFolder(input: {name: "Trips", description: "By train\nand boat", public: true}) {
		folder { id name description public default itemCount createdAt updatedAt } } }`)
	folder := dig(t, data, "createFolder", "folder").(map[string]any)
	if folder["createdAt"] != folder["updatedAt"] || !strings.HasSuffix(folder["createdAt"].(string), "Z") {
		t.Errorf("a new folder: got createdAt %v, updatedAt %v, want the same time in UTC", folder["createdAt"], folder["updatedAt"])
	}
	data = s.ok(t, "alice", `mutation($id: ID!) { updateFolder(input: {id: $id, name: "Journeys"}) { folder { name description public } } }`, "id", folder["id"])
	same(t, dig(t, data, "updateFolder", "folder"), `{"name":"Journeys","description":"By train\nand boat","public":true}`)
	data = s.ok(t, "bob", `query($id: ID!) { folder(id: $id) { name owner { userId } } node(id: $id) { id ... on Folder { name } } }`, "id", folder["id"])
	same(t, data, fmt.Sprintf(`{"folder":{"name":"Journeys","owner":{"userId":"alice"}},"node":{"id":%q,"name":"Journeys"}}`, folder["id"]))
}

func TestFolderNamesAreBoundedAndUnique(t *testing.T) {
	s := start(t)
	s.newFolder(t, "alice", "Trips", false)
	other := s.newFolder(t, "alice", strings.Repeat("ñ", 100), false)
	s.newFolder(t, "bob", "Trips", false)            // names are unique per user only
	s.newFolder(t, "alice", "À\u00a0voir 👩‍👧", true) // a no-break space, an emoji of three
	tests := []struct{ name, message string }{
		{"trips", `You already have a folder named "trips"`},
		{"default", `You already have a folder named "default", the default folder, which is there even before`},
		{strings.Repeat("ñ", 101), "101 characters"},
		{"tab\there", "input.name contains U+0009 (a tab), which is not allowed"},
		{"right\u202eleft", "input.name contains U+202E (an override of the direction), which is not allowed"},
		{"TRIPS", `You already have a folder named "TRIPS"`},
	}
	for _, tt := range tests {
		const create = `mutation($name: String!) { createFolder(input: {name: $name}) { folder { id } } }`
		if got := s.refused(t, "BAD_USER_INPUT", "alice", create, "name", tt.name); !strings.Contains(got, tt.message) {
			t.Errorf("create %q: got %q, want %q", tt.name, got, tt.message)
		}
		const rename = `mutation($id: ID!, $name: String!) { updateFolder(input: {id: $id, name: $name}) { folder { id } } }`
		if got := s.refused(t, "BAD_USER_INPUT", "alice", rename, "id", other, "name", tt.name); !strings.Contains(got, tt.message) {
			t.Errorf("rename to %q: got %q, want %q", tt.name, got, tt.message)
		}
	}
	s.refused(t, "BAD_USER_INPUT", "alice", `mutation($d: String!) { createFolder(input: {name: "x", description: $d}) { folder { id } } }`,
		"d", strings.Repeat("x", 1001))
	// A folder may be renamed to its own name in a different case.
	s.ok(t, "bob", `mutation($id: ID!) { updateFolder(input: {id: $id, name: "TRIPS"}) { folder { id } } }`,
		"id", dig(t, s.ok(t, "bob", `{ viewer { folders(first: 1) { edges { node { id } } } } }`), "viewer", "folders", "edges", 0, "node", "id"))
}

func TestThousandFoldersAreTheMost(t *testing.T) {
	s := start(t)
	owner := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	for i := range storage.MaxFolders - 1 { // the default folder counts as well
		_, err := s.store.CreateFolder(t.Context(), storage.Folder{Owner: owner, Name: fmt.Sprint("folder ", i), Created: int64(i + 1)})
		must.Succeed(t, err)
	}
	if got := s.refused(t, "LIMIT_EXCEEDED", "alice", `mutation { createFolder(input: {name: "one more"}) { folder { id } } }`); !strings.Contains(got, "1000") {
		t.Errorf("one folder more: got %q, want a mention of the limit of 1000", got)
	}
}

func TestCollectingElsewhereMovesTheItem(t *testing.T) {
	s := start(t)
	trips, cooking := s.newFolder(t, "alice", "Trips", false), s.newFolder(t, "alice", "Cooking", false)
	s.put(t, "alice", "1", trips)
	data := s.ok(t, "alice", `mutation($f: ID!) { collect(input: {biz: "video", bizId: "1", folderId: $f}) {
		changed interactive { collectCount collected { folder { name itemCount } } } } }`, "f", cooking)
	same(t, data["collect"], `{"changed":true,"interactive":{"collectCount":1,"collected":{"folder":{"name":"Cooking","itemCount":1}}}}`)
	if got := s.names(t); got != "Cooking 1, Trips 0, Default 0" {
		t.Errorf("got the folders %q, want the item in Cooking", got)
	}
	const items = `query($id: ID!) { folder(id: $id) { items { edges { node { interactive { bizId } } } } } }`
	same(t, s.ok(t, "alice", items, "id", trips), `{"folder":{"items":{"edges":[]}}}`)
	same(t, s.ok(t, "alice", items, "id", cooking), `{"folder":{"items":{"edges":[{"node":{"interactive":{"bizId":"1"}}}]}}}`)
}

func TestDeletedFolderMovesOrUncollectsItsItems(t *testing.T) {
	s := start(t)
	trips, cooking := s.newFolder(t, "alice", "Trips", false), s.newFolder(t, "alice", "Cooking", false)
	for i := range 5 {
		s.put(t, "alice", fmt.Sprint(i), trips)
	}
	s.put(t, "bob", "0", dig(t, s.ok(t, "bob", `mutation { createFolder(input: {name: "Mine"}) { folder { id } } }`), "createFolder", "folder", "id").(string))

	const remove = `mutation($id: ID!, $to: ID) { deleteFolder(input: {id: $id, moveItemsTo: $to}) { deletedId itemCount } }`
	data := s.ok(t, "alice", remove, "id", trips, "to", cooking)
	same(t, data["deleteFolder"], fmt.Sprintf(`{"deletedId":%q,"itemCount":5}`, trips))
	if got := s.names(t); got != "Cooking 5, Default 0" {
		t.Errorf("got the folders %q, want 5 items in Cooking and no Trips", got)
	}
	const count = `{ interactives(subjects: [{biz: "video", bizId: "0"}, {biz: "video", bizId: "1"}]) { collectCount collected { folder { name } } } }`
	same(t, s.ok(t, "alice", count), `{"interactives":[{"collectCount":2,"collected":{"folder":{"name":"Cooking"}}},
		{"collectCount":1,"collected":{"folder":{"name":"Cooking"}}}]}`)

	s.ok(t, "alice", remove, "id", cooking)
	same(t, s.ok(t, "alice", count), `{"interactives":[{"collectCount":1,"collected":null},{"collectCount":0,"collected":null}]}`)
	same(t, s.ok(t, "alice", `query($id: ID!) { folder(id: $id) { id } node(id: $id) { id } }`, "id", cooking), `{"folder":null,"node":null}`)
}

func TestForeignFoldersAreNotFound(t *testing.T) {
	s := start(t)
	own := s.newFolder(t, "alice", "Own", false)
	for _, public := range []bool{false, true} {
		foreign := s.newFolder(t, "bob", fmt.Sprint("Bob's ", public), public)
		for _, operation := range []string{
			`mutation($id: ID!) { collect(input: {biz: "video", bizId: "1", folderId: $id}) { changed } }`,
			`mutation($id: ID!) { updateFolder(input: {id: $id, name: "Mine now"}) { folder { id } } }`,
			`mutation($id: ID!) { deleteFolder(input: {id: $id}) { deletedId } }`,
		} {
			s.refused(t, "NOT_FOUND", "alice", operation, "id", foreign)
			s.refused(t, "NOT_FOUND", "alice", operation, "id", "no such id")
		}
		s.refused(t, "NOT_FOUND", "alice", `mutation($id: ID!, $to: ID!) { deleteFolder(input: {id: $id, moveItemsTo: $to}) { deletedId } }`,
			"id", own, "to", foreign)
	}
	s.refused(t, "BAD_USER_INPUT", "alice", `mutation($id: ID!) { deleteFolder(input: {id: $id, moveItemsTo: $id}) { deletedId } }`, "id", own)
	if got := s.names(t); got != "Own 0, Default 0" {
		t.Errorf("got the folders %q of alice, want Own and Default unchanged", got)
	}
}
