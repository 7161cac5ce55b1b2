package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/worker"
)

// echoRecorder is a recorder that returns the subject as the viewer sees it after a like.
type echoRecorder struct{}

func (echoRecorder) Record(_ context.Context, a storage.Action, seen *storage.Interactive) (worker.Recorded, error) {
	if seen != nil {
		*seen = storage.Interactive{
			Subject: a.Subject, Freshness: storage.Live, Counts: storage.Counts{LikeCount: 7, Version: 3},
			Liked: &storage.Liked{User: a.User, Subject: a.Subject, Reaction: storage.Like, Version: 1},
		}
	}
	return worker.Recorded{Known: true, Changed: true, Durability: storage.Queued}, nil
}

// A subject that the recorder returns is not read again, unless the operation selects the
// viewer's reads, which the recorder does not return.
func TestPayloadDoesNotRereadStatesOfTheRecorder(t *testing.T) {
	store := newCounting(sqlitetest.Open(t))
	t.Cleanup(func() { must.Succeed(t, store.Close()) })
	plainly, ordinary := newHandlerPair(t, store, echoRecorder{}, echoRecorder{})
	for _, c := range []struct {
		fields string
		want   string
		calls  map[string]int
	}{
		{
			"likeCount freshness liked { reaction }",
			`{"data":{"like":{"changed":true,"interactive":{"likeCount":7,"freshness":"LIVE","liked":{"reaction":"LIKE"}}}}}`,
			map[string]int{},
		},
		{
			"likeCount read { times }",
			`{"data":{"like":{"changed":true,"interactive":{"likeCount":0,"read":null}}}}`,
			map[string]int{"Interactives": 1},
		},
	} {
		body, err := json.Marshal(map[string]string{
			"query": `mutation { like(input: {biz: "video", bizId: "1"}) { changed interactive { ` + c.fields + ` } } }`,
		})
		must.Succeed(t, err)
		for way, handler := range map[string]http.Handler{"plainly": plainly, "by the executor": ordinary} {
			store.taken(t)
			if got := string(bytes.TrimSpace(respond(t, handler, "alice", body))); got != c.want {
				t.Errorf("%s: got %s, want %s", way, got, c.want)
			}
			if calls := store.taken(t); !maps.Equal(calls, c.calls) {
				t.Errorf("%s, %s: got the calls %v, want %v", c.fields, way, calls, c.calls)
			}
		}
	}
}

// TestConstantNumberOfStorageCalls proves invariant I7: a request for one subject and a
// request for a hundred make the same number of calls.
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
			storage.Action{User: alice, Subject: subject, Kind: storage.KindRead},
			storage.Action{Subject: subject, Kind: storage.KindAuthor, Author: fmt.Sprint("author", i)})
		friend := storage.User{UserID: fmt.Sprint("friend", i)}
		actions = append(actions,
			storage.Action{User: alice, Subject: friend.Subject(), Kind: storage.KindFollow, Following: true},
			storage.Action{User: friend, Subject: alice.Subject(), Kind: storage.KindFollow, Following: true})
	}
	s.act(t, time.Now(), actions...)
	folder := dig(t, s.ok(t, "alice", `mutation { createFolder(input: {name: "second"}) { folder { id } } }`), "createFolder", "folder", "id")
	s.ok(t, "alice", `mutation($f: ID!) { collect(input: {biz: "video", bizId: "7", folderId: $f}) { changed } }`, "f", folder)

	for i := range 100 {
		other := storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("friend", i)}
		_, err := s.store.AddMessages(t.Context(), []storage.NewDirectMessage{{From: other, To: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Text: "hi"}})
		must.Succeed(t, err)
	}
	for i := range 100 {
		top, err := s.store.AddComments(t.Context(), []storage.NewComment{{Subject: commentedSubject, User: commenter(i), Text: fmt.Sprint(i)}})
		must.Succeed(t, err)
		reply, err := s.store.AddComments(t.Context(), []storage.NewComment{{Subject: commentedSubject, User: commenter(i + 1), Text: "re", ParentID: top[0].Comment.Number}})
		must.Succeed(t, err)
		s.act(t, time.Now(), storage.Action{
			User: storage.User{UserID: "fan"}, Subject: storage.Subject{Biz: storage.BizComment, BizID: reply[0].Comment.CommentID()}, Kind: storage.KindReaction, Reaction: storage.Like,
		})
	}

	var ids []string
	for i := range 100 {
		liked := storage.Liked{
			User:    storage.User{Tenant: storage.DefaultTenant, UserID: "bob"},
			Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(i)},
		}
		ids = append(ids, liked.ID())
	}
	const ofSubjects = `query($s: [SubjectInput!]!) { interactives(subjects: $s) { `
	tests := []struct {
		name  string
		query string // has the variable n (entries per page), s (subjects) or ids
		want  map[string]int
	}{
		{
			"page of subjects with everything the viewer did",
			ofSubjects + `likeCount liked { reaction at user { userId } } collected { at folder { name itemCount } } read { times } } }`,
			map[string]int{"Interactives": 1, "FoldersOf": 1},
		},
		{
			"page of subjects with their latest likers",
			ofSubjects + `likeCount likers(first: 3) { edges { node { user { userId } } } } } }`,
			map[string]int{"Interactives": 1, "Likers": 1},
		},
		{
			"connection of likes with their subjects",
			`query($n: Int!) { viewer { likes(first: $n) { edges { node { at interactive { likeCount liked { reaction } } } } } } }`,
			map[string]int{"Likes": 1, "Interactives": 1},
		},
		{
			"folders with their items and the items' subjects",
			`query($n: Int!) { viewer { folders(first: $n) { edges { node { name
				items(first: 20) { edges { node { interactive { collectCount collected { folder { name } } } } } } } } } } }`,
			map[string]int{"ListFolders": 1, "Items": 1, "Interactives": 1, "FoldersOf": 1},
		},
		{
			"read history with subjects",
			`query($n: Int!) { viewer { reads(first: $n) { edges { node { times interactive { readCount } } } } } }`,
			map[string]int{"Reads": 1, "Interactives": 1},
		},
		{
			"page of subjects with numbers of comments",
			ofSubjects + `likeCount commentCount } }`,
			map[string]int{"Interactives": 1, "CommentCounts": 1},
		},
		{
			"comments with their authors, own likes and replies",
			`query($n: Int!) { interactive(biz: "video", bizId: "talk") { commentCount comments(first: $n, order: TOP) { changesCursor edges { node {
				text at author { userId } replyCount replies(first: 2) { edges { node { text author { userId } parent { text } } } }
				interactive { likeCount liked { reaction } } subject { likeCount } } } } } }`,
			// The subject of the page and the subjects of the comments are on two levels.
			map[string]int{"Interactives": 2, "CommentCounts": 1, "ListComments": 2, "CommentsOf": 1},
		},
		{
			"comments with the viewer's likes and follows of their authors",
			`query($n: Int!) { interactive(biz: "video", bizId: "talk") { comments(first: $n) { edges { node {
				text replyCount author { userId interactive { followerCount followed { at } } } interactive { likeCount liked { reaction } } } } } } }`,
			map[string]int{"Interactives": 2, "ListComments": 1},
		},
		{
			"conversations with their messages",
			`query($n: Int!) { conversations(first: $n) { messagesCursor edges { node { unread with { userId } latest { text from { userId } } messages(first: 2) { edges { node { text } } } } } } }`,
			map[string]int{"ListConversations": 1, "ListMessages": 1},
		},
		{
			"friends with their latest messages",
			`query($n: Int!) { viewer { friends(first: $n) { edges { node { user { userId } latestMessage { text } } } } } }`,
			map[string]int{"Friends": 1, "ConversationsOf": 1},
		},
		{
			"users who are followed",
			`query($n: Int!) { viewer { following(first: $n) { edges { node { at interactive { followerCount followed { at } } } } } } }`,
			map[string]int{"Following": 1, "Interactives": 1},
		},
		{
			"followers with the viewer's follows of them",
			`query($n: Int!) { viewer { followers(first: $n) { edges { node { user { userId interactive { followerCount followed { at } } } } } } } }`,
			map[string]int{"Followers": 1, "Interactives": 1},
		},
		{
			"friends with the viewer's follows of them",
			`query($n: Int!) { viewer { friends(first: $n) { edges { node { since user { interactive { followerCount followed { at } } } } } } } }`,
			map[string]int{"Friends": 1, "Interactives": 1},
		},
		{
			"comments of a user with what they are about",
			`query($n: Int!) { user(userId: "user1") { comments(first: $n) { edges { node { text subject { likeCount } parent { text } } } } } }`,
			map[string]int{"UserComments": 1, "Interactives": 1, "CommentsOf": 1},
		},
		{
			"liked comments with their texts",
			`query($n: Int!) { user(userId: "fan") { likes(biz: "comment", first: $n) { edges { node { interactive { likeCount content {
				__typename ... on Comment { text by: author { userId } subject { bizId likeCount } parent { text } } ... on Video { title } } } } } } } }`,
			map[string]int{"Likes": 1, "Interactives": 2, "CommentsOf": 2},
		},
		{
			"page of subjects without texts",
			ofSubjects + `content { ... on Comment { text } } } }`,
			map[string]int{"Interactives": 1},
		},
		{"page of subjects with their authors", ofSubjects + `likeCount author { userId } } }`, map[string]int{"Interactives": 1}},
		{
			"page of subjects with the authors' totals",
			ofSubjects + `author { totals { works followers } } } }`,
			map[string]int{"Interactives": 1, "TotalsOf": 1},
		},
		{
			"page of subjects with their authors' works",
			ofSubjects + `author { works(first: 3) { edges { node { likeCount bizId } } pageInfo { endCursor } } } } }`,
			map[string]int{"Interactives": 1, "Works": 1},
		},
		{
			"page of subjects with the authors of their authors' works",
			ofSubjects + `author { works(first: 3) { edges { node { author { userId } } } } } } }`,
			map[string]int{"Interactives": 1, "Works": 1},
		},
		{
			"page of subjects with all counts and states",
			ofSubjects + `readCount likeCount dislikeCount collectCount liked { reaction } collected { at } read { times } } }`,
			map[string]int{"Interactives": 1},
		},
		{
			"page of subjects with everything",
			ofSubjects + `readCount likeCount dislikeCount collectCount liked { reaction } collected { at } read { times }
				followerCount followed { at } commentCount author { userId interactive { followerCount followed { at } } } } }`,
			map[string]int{"Interactives": 2, "CommentCounts": 1},
		},
		{
			"nodes of one type",
			`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Liked { reaction interactive { likeCount } } } }`,
			map[string]int{"States": 1, "Interactives": 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{2, 100} {
				s.calls.taken(t)
				s.ok(t, "alice", tt.query, append(subjects(n), "n", n, "ids", ids[:n])...)
				if got := s.calls.taken(t); !maps.Equal(got, tt.want) {
					t.Errorf("%d entries: got the calls %v, want %v", n, got, tt.want)
				}
			}
		})
	}
}

var commentedSubject = storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "talk"}

func commenter(i int) storage.User {
	return storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("user", i%7)}
}

func subjects(n int) []any {
	list := make([]map[string]string, n)
	for i := range list {
		list[i] = map[string]string{"biz": "video", "bizId": fmt.Sprint(i)}
	}
	return []any{"s", list}
}
