package resolvers_test

import (
	"fmt"
	"testing"

	"ovation/storage"
)

// ids creates objects of each type for alice and returns their ids by type. Among them
// are a private folder and a public folder with one item each, a like, a dislike and a
// read.
func ids(t *testing.T, s *service) map[string]string {
	t.Helper()
	hidden, shown := s.newFolder(t, "alice", "Hidden", false), s.newFolder(t, "alice", "Shown", true)
	s.put(t, "alice", "hidden", hidden)
	s.put(t, "alice", "shown", shown)
	data := s.ok(t, "alice", `mutation {
		like(input: {biz: "video", bizId: "1"}) { interactive { id liked { id } } }
		dislike(input: {biz: "video", bizId: "2"}) { interactive { liked { id } } }
		read(input: {biz: "video", bizId: "1"}) { interactive { read { id } } }
		follow(input: {biz: "user", bizId: "bob"}) { interactive { followed { id } } } }`)
	items := s.ok(t, "alice", `{ viewer { id }
		hidden: interactive(biz: "video", bizId: "hidden") { collected { id } }
		shown: interactive(biz: "video", bizId: "shown") { collected { id } } }`)
	text := func(data any, path ...any) string { return dig(t, data, path...).(string) }
	return map[string]string{
		"Comment":          text(s.ok(t, "alice", `mutation { addComment(input: {biz: "video", bizId: "1", text: "mine"}) { comment { id } } }`), "addComment", "comment", "id"),
		"Message":          s.sends(t, "alice", "carol", "for carol"),
		"Conversation":     text(s.ok(t, "alice", `{ conversation(with: "carol") { id } }`), "conversation", "id"),
		"Interactive":      text(data, "like", "interactive", "id"),
		"Liked":            text(data, "like", "interactive", "liked", "id"),
		"Liked (dislike)":  text(data, "dislike", "interactive", "liked", "id"),
		"Read":             text(data, "read", "interactive", "read", "id"),
		"Followed":         text(data, "follow", "interactive", "followed", "id"),
		"User":             text(items, "viewer", "id"),
		"Folder (private)": hidden, "Folder (public)": shown,
		"Collected (private)": text(items, "hidden", "collected", "id"),
		"Collected (public)":  text(items, "shown", "collected", "id"),
	}
}

const anyNode = `query($id: ID!) { node(id: $id) { __typename id } nodes(ids: [$id]) { __typename id } }`

// TestNodesAndTheirWalls proves invariant I8 for node and nodes. It checks, for each
// type, which viewers see alice's objects.
func TestNodesAndTheirWalls(t *testing.T) {
	s := start(t)
	all := ids(t, s)
	tests := []struct {
		what, typename string
		bob            bool // whether another user sees the object
		anonymous      bool
	}{
		{"Interactive", "Interactive", true, true},
		{"Comment", "Comment", true, true},
		{"Message", "Message", false, false},
		{"Conversation", "Conversation", false, false},
		{"Liked", "Liked", true, false},
		{"Liked (dislike)", "Liked", false, false},
		{"Read", "Read", false, false},
		{"Followed", "Followed", true, false},
		{"User", "User", true, false},
		{"Folder (private)", "Folder", false, false},
		{"Folder (public)", "Folder", true, false},
		{"Collected (private)", "Collected", false, false},
		{"Collected (public)", "Collected", true, false},
	}
	if len(tests) != len(all) {
		t.Fatalf("got %d kinds of node, %d tested, want all tested", len(all), len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			id := all[tt.what]
			found := fmt.Sprintf(`{"node":{"__typename":%q,"id":%q},"nodes":[{"__typename":%q,"id":%q}]}`, tt.typename, id, tt.typename, id)
			const nothing = `{"node":null,"nodes":[null]}`

			same(t, s.ok(t, "alice", anyNode, "id", id), found)
			if tt.bob {
				same(t, s.ok(t, "bob", anyNode, "id", id), found)
			} else {
				same(t, s.ok(t, "bob", anyNode, "id", id), nothing)
			}
			if tt.anonymous {
				same(t, s.ok(t, "", anyNode, "id", id), found)
			} else {
				s.refused(t, "UNAUTHENTICATED", "", `query($id: ID!) { node(id: $id) { id } }`, "id", id)
			}
			// A user with the same id in another tenant is another user.
			for _, user := range []string{"alice", "bob"} {
				got := s.askAs(t, storage.User{Tenant: "other", UserID: user}, anyNode, "id", id)
				if len(got.Errors) > 0 {
					t.Fatalf("%s of the other tenant: got %+v, want no errors", user, got.Errors)
				}
				same(t, got.Data, nothing)
			}
		})
	}
}

func TestOneEntryOfNodesDoesNotSpoilTheOthers(t *testing.T) {
	s := start(t)
	all := ids(t, s)
	got := s.ask(t, "", `query($ids: [ID!]!) { nodes(ids: $ids) { __typename } }`, "ids", []string{all["Folder (public)"], all["Interactive"], "x"})
	same(t, got.Data, `{"nodes":[null,{"__typename":"Interactive"},null]}`)
	if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "UNAUTHENTICATED" || len(got.Errors[0].Path) != 2 {
		t.Errorf("got %+v, want UNAUTHENTICATED alone, at its entry", got.Errors)
	}
}

func TestNoIDIsNull(t *testing.T) {
	s := start(t)
	for _, id := range []string{"", "x", "SW50ZXJhY3RpdmU", "*", "\u00e9", "I", "TAAAAA"} {
		same(t, s.ok(t, "alice", anyNode, "id", id), `{"node":null,"nodes":[null]}`)
		same(t, s.ok(t, "alice", `query($id: ID!) { folder(id: $id) { id } }`, "id", id), `{"folder":null}`)
	}
}

func TestRemovedStatesAreNull(t *testing.T) {
	s := start(t)
	all := ids(t, s)
	s.ok(t, "alice", `mutation { unlike(input: {biz: "video", bizId: "1"}) { changed } uncollect(input: {biz: "video", bizId: "shown"}) { changed }
		unfollow(input: {biz: "user", bizId: "bob"}) { changed } }`)
	same(t, s.ok(t, "alice", anyNode, "id", all["Liked"]), `{"node":null,"nodes":[null]}`)
	same(t, s.ok(t, "alice", anyNode, "id", all["Collected (public)"]), `{"node":null,"nodes":[null]}`)
	same(t, s.ok(t, "alice", anyNode, "id", all["Followed"]), `{"node":null,"nodes":[null]}`)
}

func TestWallsBetweenTenants(t *testing.T) {
	s := start(t)
	ids(t, s)
	other := storage.User{Tenant: "other", UserID: "alice"}
	data := s.askAs(t, other, `{ viewer {
		likes { edges { cursor } } folders { edges { cursor } } reads { edges { cursor } }
		following { edges { cursor } } followers { edges { cursor } } friends { edges { cursor } } }
		interactive(biz: "video", bizId: "1") { readCount likeCount version liked { id } collected { id } read { id } likers { edges { cursor } } } }`)
	same(t, data.Data, `{"viewer":{"likes":{"edges":[]},"folders":{"edges":[]},"reads":{"edges":[]},"following":{"edges":[]},"followers":{"edges":[]},"friends":{"edges":[]}},
		"interactive":{"readCount":0,"likeCount":0,"version":0,"liked":null,"collected":null,"read":null,"likers":{"edges":[]}}}`)
	s.askAs(t, other, `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	same(t, s.ok(t, "bob", `{ interactive(biz: "video", bizId: "1") { likeCount } }`), `{"interactive":{"likeCount":1}}`)
	if got := s.askAs(t, storage.User{Tenant: "Bad Tenant", UserID: "alice"}, `{ viewer { userId } }`); got.status != 401 && got.status != 400 {
		t.Errorf("an invalid tenant: got status %d, want 401 or 400", got.status)
	}
}

func TestWallsAroundLiked(t *testing.T) {
	s := start(t)
	ids(t, s)
	same(t, s.ok(t, "bob", `{ user(userId: "alice") { likes { edges { node { reaction interactive { bizId } } } } } }`),
		`{"user":{"likes":{"edges":[{"node":{"reaction":"LIKE","interactive":{"bizId":"1"}}}]}}}`)
	same(t, s.ok(t, "bob", `{ interactive(biz: "video", bizId: "2") { dislikeCount liked { id } likers { edges { cursor } } } }`),
		`{"interactive":{"dislikeCount":1,"liked":null,"likers":{"edges":[]}}}`)
}

func TestWallsAroundFolderAndCollected(t *testing.T) {
	s := start(t)
	ids(t, s)
	same(t, s.ok(t, "bob", `{ user(userId: "alice") { folders { edges { node { name items { edges { node { interactive { bizId } } } } } } } } }`),
		`{"user":{"folders":{"edges":[{"node":{"name":"Shown","items":{"edges":[{"node":{"interactive":{"bizId":"shown"}}}]}}}]}}}`)
	if got := s.names(t); got != "Shown 1, Hidden 1, Default 0" {
		t.Errorf("got the folders %q of alice, want Shown, Hidden and Default", got)
	}
	same(t, s.ok(t, "bob", `{ interactive(biz: "video", bizId: "hidden") { collectCount collected { id } } }`),
		`{"interactive":{"collectCount":1,"collected":null}}`)
}

func TestWallsAroundRead(t *testing.T) {
	s := start(t)
	ids(t, s)
	s.refused(t, "NOT_FOUND", "bob", `{ user(userId: "alice") { reads { edges { cursor } } } }`)
	same(t, s.ok(t, "bob", `{ interactive(biz: "video", bizId: "1") { readCount read { times } } }`), `{"interactive":{"readCount":1,"read":null}}`)
	same(t, s.ok(t, "alice", `{ user(userId: "alice") { reads { edges { node { times } } } } }`), `{"user":{"reads":{"edges":[{"node":{"times":1}}]}}}`)
}
