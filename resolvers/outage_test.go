package resolvers_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// During an outage, a response calls the store once for each kind of object that it
// needs, regardless of the number of fields.
func TestOutageCostsOneCallAKind(t *testing.T) {
	s := start(t)
	alice := storage.User{UserID: "alice"}
	var actions []storage.Action
	for i := range 5 {
		actions = append(actions, storage.Action{
			User: alice, Subject: storage.Subject{Biz: "video", BizID: fmt.Sprint(i)}, Kind: storage.KindReaction, Reaction: storage.Like,
		})
	}
	s.act(t, time.Now(), actions...)
	var query, nodes strings.Builder
	for i := range 5 {
		subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(i)}
		owner := storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("user", i)}
		liked := storage.Liked{User: owner, Subject: subject}
		folder := storage.Folder{Owner: owner, FolderID: storage.DefaultFolderID}
		fmt.Fprintf(&query, `
			one%[1]d: interactive(biz: "video", bizId: "%[1]d") { likeCount liked { at } }
			many%[1]d: interactives(subjects: [{biz: "video", bizId: "%[1]d"}, {biz: "video", bizId: "more%[1]d"}]) { likeCount }
			folder%[1]d: folder(id: %[2]q) { name }
			user%[1]d: user(userId: "user%[1]d") {
				likes { edges { node { at } } } folders { edges { node { name } } }
			}
			viewer%[1]d: viewer { reads(first: %[3]d) { edges { node { times } } } }`, i, folder.ID(), i+1)
		fmt.Fprintf(&nodes, "%q, ", liked.ID())
	}
	must.Succeed(t, s.store.Close())
	s.calls.taken(t)
	got := s.ask(t, "alice", "{"+query.String()+" nodes(ids: ["+nodes.String()+"]) { id } }")
	if len(got.Errors) < 30 {
		t.Errorf("got %d errors, want 30 or more: %+v", len(got.Errors), got.Errors)
	}
	for _, e := range got.Errors {
		if e.Extensions["code"] != "UNAVAILABLE" {
			t.Errorf("got %+v, want UNAVAILABLE", e)
		}
	}
	want := map[string]int{"Interactives": 1, "FoldersOf": 1, "Likes": 1, "ListFolders": 1, "Reads": 1, "States": 1}
	if calls := s.calls.taken(t); !maps.Equal(calls, want) {
		t.Errorf("got the calls %v, want %v", calls, want)
	}
}

// writeOnly is a store whose reads are unavailable.
type writeOnly struct{ storage.Store }

func (writeOnly) Interactives(context.Context, storage.User, []storage.Subject, storage.Kinds) ([]storage.Interactive, error) {
	return nil, storage.ErrUnavailable
}

func (writeOnly) FoldersOf(context.Context, []storage.FolderKey) ([]*storage.Folder, error) {
	return nil, storage.ErrUnavailable
}

// The fields of a mutation run one after another. If the reads for the first field fail,
// the other fields do not wait again. The response still has the results of the actions.
func TestOutageCostsAMutationOneCallAKind(t *testing.T) {
	s := start(t, withStore(func(s storage.Store) storage.Store { return writeOnly{s} }))
	folder := storage.Folder{Owner: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, FolderID: storage.DefaultFolderID}
	var likes, collects strings.Builder
	for i := range 5 {
		fmt.Fprintf(&likes, `a%[1]d: like(input: {biz: "video", bizId: "%[1]d"}) { changed interactive { likeCount freshness } } `, i)
		fmt.Fprintf(&collects, `a%[1]d: collect(input: {biz: "video", bizId: "%[1]d", folderId: %[2]q}) { changed } `, i, folder.ID())
	}
	s.calls.taken(t)
	data := s.ok(t, "alice", "mutation {"+likes.String()+"}")
	for i := range 5 {
		same(t, data[fmt.Sprint("a", i)], `{"changed": true, "interactive": {"likeCount": 0, "freshness": "UNAVAILABLE"}}`)
	}
	if calls := s.calls.taken(t); calls["Interactives"] != 1 {
		t.Errorf("5 likes: got the calls %v, want 1 of Interactives", calls)
	}
	s.ask(t, "alice", "mutation {"+collects.String()+"}")
	if calls := s.calls.taken(t); calls["FoldersOf"] != 1 {
		t.Errorf("5 collections: got the calls %v, want 1 of FoldersOf", calls)
	}
}
