package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// number returns the commentId of a comment.
func (s *service) number(t *testing.T, id string) string {
	t.Helper()
	return dig(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { commentId } } }`, "id", id), "node", "commentId").(string)
}

// From a liked subject, everybody reaches the comment or the video that it is.
func TestContentOfSubjects(t *testing.T) {
	s := start(t, withVideos)
	video := s.upload(t, "alice", "film")
	top := s.says(t, "alice", "top", nil)
	s.says(t, "bob", "reply", top)
	gone := s.says(t, "alice", "gone", nil)
	number, goneNumber := s.number(t, top), s.number(t, gone)
	const page = `query($s: [SubjectInput!]!) { interactives(subjects: $s) { biz content { __typename
		... on Comment { text from: author { userId } at2: editedAt replies(first: 1) { edges { node { text } } } } ... on Video { title author { userId } } ... on Node { id2: __typename } } } }`
	subjects := []map[string]string{
		{"biz": "comment", "bizId": number},
		{"biz": "video", "bizId": video},
		{"biz": "article", "bizId": number},
		{"biz": "comment", "bizId": video},
		{"biz": "video", "bizId": number},
		{"biz": "comment", "bizId": "x"},
		{"biz": "video", "bizId": "007"},
	}
	want := `{"interactives":[
		{"biz":"comment","content":{"__typename":"Comment","text":"top","from":{"userId":"alice"},"at2":null,"replies":{"edges":[{"node":{"text":"reply"}}]},"id2":"Comment"}},
		{"biz":"video","content":{"__typename":"Video","title":"film","author":{"userId":"alice"},"id2":"Video"}},
		{"biz":"article","content":null},{"biz":"comment","content":null},{"biz":"video","content":null},{"biz":"comment","content":null},{"biz":"video","content":null}]}`
	for _, user := range []string{"", "bob"} {
		same(t, s.ok(t, user, page, "s", subjects), want)
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, page, "s", subjects[:2])
	same(t, other.Data, `{"interactives":[{"biz":"comment","content":null},{"biz":"video","content":null}]}`)

	s.ok(t, "bob", `mutation($n: ID!) { like(input: {biz: "comment", bizId: $n}) { interactive { content { ... on Comment { text } } } } }`, "n", number)
	const remove = `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`
	s.ok(t, "alice", remove, "id", gone)
	s.ok(t, "alice", remove, "id", top)
	s.ok(t, "alice", `mutation($v: ID!) { deleteVideo(input: {videoId: $v}) { deletedId } }`, "v", video)
	same(t, s.ok(t, "", `query($s: [SubjectInput!]!) { interactives(subjects: $s) { content { __typename } } }`, "s", []map[string]string{subjects[0], subjects[1], {"biz": "comment", "bizId": goneNumber}}),
		`{"interactives":[{"content":null},{"content":null},{"content":null}]}`)
}

// A page with contents needs no executor.
func TestContentIsPrefetched(t *testing.T) {
	s := start(t, withVideos)
	video, number := s.upload(t, "alice", "film"), s.number(t, s.says(t, "alice", "text", nil))
	resolved := 0
	s.engine.AroundRootFields(func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		resolved++
		return next(ctx)
	})
	same(t, s.ok(t, "", `query($s: [SubjectInput!]!) { interactives(subjects: $s) { content { ... on Comment { text } ... on Video { title } } } }`, "s",
		[]map[string]string{{"biz": "comment", "bizId": number}, {"biz": "video", "bizId": video}}), `{"interactives":[{"content":{"text":"text"}},{"content":{"title":"film"}}]}`)
	if resolved > 0 {
		t.Errorf("the executor resolved %d fields, want none", resolved)
	}
}

func TestContentOfVideosIsOff(t *testing.T) {
	s := start(t)
	out, _, err := s.store.PublishVideo(t.Context(), storage.NewVideo{
		Author: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Title: "film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1",
	}, nil)
	must.Succeed(t, err)
	same(t, s.ok(t, "alice", `query($v: ID!) { interactive(biz: "video", bizId: $v) { content { __typename } } }`, "v", out.Video.VideoID()), `{"interactive":{"content":null}}`)
}

func TestCommentByItsCommentID(t *testing.T) {
	s := start(t)
	top := s.says(t, "alice", "top", nil)
	s.says(t, "bob", "reply", top)
	number := s.number(t, top)
	const query = `query($n: ID!) { comment(commentId: $n) { id text deleted author { userId } subject { bizId } } }`
	same(t, s.ok(t, "", query, "n", number), fmt.Sprintf(`{"comment":{"id":%q,"text":"top","deleted":false,"author":{"userId":"alice"},"subject":{"bizId":"1"}}}`, top))
	for _, id := range []string{"1", "x", "", "-5", "01", "9007199254740993", "1e3"} {
		same(t, s.ok(t, "", query, "n", id), `{"comment":null}`)
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, query, "n", number)
	same(t, other.Data, `{"comment":null}`)
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", top)
	same(t, dig(t, s.ok(t, "", query, "n", number), "comment", "deleted"), `true`) // it has a reply
}

// The comments of a user are as public as the comments, newest first, and as many as the
// user's total says.
func TestCommentsOfUsersArePaged(t *testing.T) {
	s := start(t)
	var ids []string
	for i := range 7 {
		ids = append(ids, s.says(t, "alice", fmt.Sprint(i), nil))
	}
	s.says(t, "alice", "reply", s.says(t, "bob", "of bob", nil))
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", ids[3])
	for _, viewer := range []string{"alice", "bob"} {
		got := s.pages(t, viewer, `user(userId: "alice")`, "comments(%s)", "text", 3)
		same(t, got, `["reply","6","5","4","2","1","0"]`)
		same(t, s.ok(t, viewer, `{ user(userId: "alice") { totals { comments } } }`), `{"user":{"totals":{"comments":7}}}`)
	}
	same(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { author { comments(first: 2) { edges { node { text subject { bizId } } } pageInfo { hasNextPage } } } } } }`, "id", ids[0]),
		`{"node":{"author":{"comments":{"edges":[{"node":{"text":"reply","subject":{"bizId":"1"}}},{"node":{"text":"6","subject":{"bizId":"1"}}}],"pageInfo":{"hasNextPage":true}}}}}`)
	cursor := dig(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { comments(first: 1) { pageInfo { endCursor } } } }`), "interactive", "comments", "pageInfo", "endCursor")
	s.refused(t, "BAD_USER_INPUT", "alice", `query($a: String) { viewer { comments(after: $a) { edges { cursor } } } }`, "a", cursor)
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "bob"}, `{ user(userId: "alice") { comments { edges { node { text } } } } }`)
	same(t, other.Data, `{"user":{"comments":{"edges":[]}}}`)
}

// Fields that hold objects of several types are written as the executor writes them.
func TestContentIsThatOfTheExecutor(t *testing.T) {
	db := seededDatabase(t)
	author := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	video, _, err := db.PublishVideo(t.Context(), storage.NewVideo{Author: author, Title: "a \"film\"", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1"}, nil)
	must.Succeed(t, err)
	added, err := db.AddComments(t.Context(), []storage.NewComment{{Subject: video.Video.Key().Subject(), User: author, Text: "a\ncomment"}})
	must.Succeed(t, err)
	var did countingRecorder
	plainly, ordinary := newHandlerPair(t, db, &did, &did)
	for _, selection := range []string{
		`content { __typename }`, `content { ... on Comment { text author { userId } subject { likeCount } } }`,
		`a: content { ... on Video { title author { userId } } ... on Comment { text interactive { content { ... on Comment { text } } } } } b: content { ... on Content { ... on Node { id } } }`,
		`biz content { ... on Comment @skip(if: true) { text } ... on Video { title } } author { userId }`,
	} {
		body, err := json.Marshal(map[string]any{
			"query": `query($s: [SubjectInput!]!) { interactives(subjects: $s) { ` + selection + ` } }`,
			"variables": map[string]any{"s": []map[string]string{
				{"biz": "comment", "bizId": added[0].Comment.CommentID()}, {"biz": "video", "bizId": video.Video.VideoID()}, {"biz": "video", "bizId": "1"},
			}},
		})
		must.Succeed(t, err)
		want := respond(t, ordinary, "bob", body)
		for range 2 { // the second time, the document is cached
			if got := respond(t, plainly, "bob", body); !bytes.Equal(got, want) || bytes.Contains(want, []byte(`"errors"`)) {
				t.Errorf("%s:\nplainly:  %s\nexecutor: %s", selection, got, want)
			}
		}
	}
}
