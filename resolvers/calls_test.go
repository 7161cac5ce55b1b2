package resolvers_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"ovation/storage"
)

// TestConstantNumberOfStorageCalls is I7: the same number of calls whether a
// request is for one subject or for a hundred.
func TestConstantNumberOfStorageCalls(t *testing.T) {
	s := start(t)
	alice := storage.User{UserID: "alice"}
	var actions []storage.Action
	for i := range 100 {
		subject := storage.Subject{Biz: "video", BizID: fmt.Sprint(i)}
		actions = append(actions,
			storage.Action{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like},
			storage.Action{User: storage.User{UserID: "bob"}, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like},
			storage.Action{User: alice, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID},
			storage.Action{User: alice, Subject: subject, Kind: storage.KindRead})
	}
	s.act(t, time.Now(), actions...)
	folder := dig(t, s.ok(t, "alice", `mutation { createFolder(input: {name: "second"}) { folder { id } } }`), "createFolder", "folder", "id")
	s.ok(t, "alice", `mutation($f: ID!) { collect(input: {biz: "video", bizId: "7", folderId: $f}) { changed } }`, "f", folder)

	tests := []struct {
		name  string
		query string // with the number of entries to fill in
		vars  func(n int) []any
		want  map[string]int
	}{
		{
			"page of subjects with everything the viewer did",
			`query($s: [SubjectInput!]!) { interactives(subjects: $s) {
				likeCount liked { reaction at user { userId } } collected { at folder { name itemCount } } read { times } } }`,
			subjects,
			map[string]int{"Interactives": 1, "FoldersOf": 1},
		},
		{
			"page of subjects with their latest likers",
			`query($s: [SubjectInput!]!) { interactives(subjects: $s) {
				likeCount likers(first: 3) { edges { node { user { userId } } } } } }`,
			subjects,
			map[string]int{"Interactives": 1, "Likers": 1},
		},
		{
			"connection of likes with their subjects",
			`query($n: Int!) { viewer { likes(first: $n) { edges { node { at interactive { likeCount liked { reaction } } } } } } }`,
			first,
			map[string]int{"Likes": 1, "Interactives": 1},
		},
		{
			"folders with their items and the items' subjects",
			`query($n: Int!) { viewer { folders(first: $n) { edges { node { name
				items(first: 20) { edges { node { interactive { collectCount collected { folder { name } } } } } } } } } } }`,
			first,
			map[string]int{"ListFolders": 1, "Items": 1, "Interactives": 1, "FoldersOf": 1},
		},
		{
			"read history with subjects",
			`query($n: Int!) { viewer { reads(first: $n) { edges { node { times interactive { readCount } } } } } }`,
			first,
			map[string]int{"Reads": 1, "Interactives": 1},
		},
		{
			"nodes of one type",
			`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Liked { reaction interactive { likeCount } } } }`,
			func(n int) []any {
				ids := make([]string, n)
				for i := range ids {
					liked := storage.Liked{
						User:    storage.User{Tenant: storage.DefaultTenant, UserID: "bob"},
						Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(i)},
					}
					ids[i] = liked.ID()
				}
				return []any{"ids", ids}
			},
			map[string]int{"States": 1, "Interactives": 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{2, 100} {
				s.calls.taken()
				s.ok(t, "alice", tt.query, tt.vars(n)...)
				if got := s.calls.taken(); !maps.Equal(got, tt.want) {
					t.Errorf("%d entries took %v calls, want %v", n, got, tt.want)
				}
			}
		})
	}
}

func subjects(n int) []any {
	list := make([]map[string]string, n)
	for i := range list {
		list[i] = map[string]string{"biz": "video", "bizId": fmt.Sprint(i)}
	}
	return []any{"s", list}
}

func first(n int) []any { return []any{"n", n} }
