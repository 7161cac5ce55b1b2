package resolvers_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/storage"
)

// declareAs declares the authors of subjects, as a user whose token has the given scope.
func (s *service) declareAs(t *testing.T, userID, scope string, subjects ...any) answer {
	t.Helper()
	return s.askWith(t, userID, scope, declareDocument, map[string]any{"in": map[string]any{"subjects": subjects}})
}

const declareDocument = `mutation($in: DeclareSubjectsInput!) {
	declareSubjects(input: $in) { durability interactives { bizId author { userId } } } }`

type declaration = map[string]any

func declarationOf(bizID string, author any, more ...any) declaration {
	d := declaration{"biz": "video", "bizId": bizID, "author": author}
	for i := 0; i < len(more); i += 2 {
		d[more[i].(string)] = more[i+1]
	}
	return d
}

func (s *service) declare(t *testing.T, subjects ...any) map[string]any {
	t.Helper()
	got := s.declareAs(t, "owner", "subjects:write", subjects...)
	if len(got.Errors) > 0 {
		t.Fatalf("declaring authors: got %+v, want no errors", got.Errors)
	}
	return got.Data["declareSubjects"].(map[string]any)
}

func TestAuthorsAreDeclared(t *testing.T) {
	s := start(t)
	s.ok(t, "bob", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	got := s.declare(t, declarationOf("1", "alice", "at", "2020-01-01T00:00:00Z"), declarationOf("2", "alice", "at", "2021-01-01T00:00:00Z"), declarationOf("3", nil))
	same(t, got, `{"durability": "PERSISTED", "interactives": [
		{"bizId": "1", "author": {"userId": "alice"}}, {"bizId": "2", "author": {"userId": "alice"}}, {"bizId": "3", "author": null}]}`)
	same(t, s.declare(t), `{"durability": "PERSISTED", "interactives": []}`)
	const profile = `{ user(userId: "alice") { totals { works likesReceived likes following followers collections comments }
		works(first: 1) { edges { node { bizId likeCount liked { reaction } author { userId } } } pageInfo { hasNextPage endCursor } } } }`
	await.That(t, "the like is received", func() bool {
		return dig(t, s.ok(t, "bob", profile), "user", "totals", "likesReceived") == 1.0
	})
	data := s.ok(t, "bob", profile)
	end := dig(t, data, "user", "works", "pageInfo", "endCursor")
	same(t, dig(t, data, "user", "totals"), `{"works": 2, "likesReceived": 1, "likes": 0, "following": 0, "followers": 0, "collections": 0, "comments": 0}`)
	same(t, dig(t, data, "user", "works", "edges"), `[{"node": {"bizId": "2", "likeCount": 0, "liked": null, "author": {"userId": "alice"}}}]`)
	next := s.ok(t, "bob", `query($a: String) { user(userId: "alice") { works(first: 1, after: $a) { edges { node { bizId likeCount liked { reaction } } } pageInfo { hasNextPage hasPreviousPage } } } }`, "a", end)
	same(t, dig(t, next, "user", "works"), `{"edges": [{"node": {"bizId": "1", "likeCount": 1, "liked": {"reaction": "LIKE"}}}],
		"pageInfo": {"hasNextPage": false, "hasPreviousPage": true}}`)

	// Anonymous viewers see the id and the totals of a subject's author, but not the
	// author's works.
	const who = `{ interactive(biz: "video", bizId: "1") { author { userId %s } } }`
	same(t, s.ok(t, "", fmt.Sprintf(who, "")), `{"interactive": {"author": {"userId": "alice"}}}`)
	same(t, s.ok(t, "", fmt.Sprintf(who, "totals { works }")), `{"interactive": {"author": {"userId": "alice", "totals": {"works": 2}}}}`)
	s.refused(t, "UNAUTHENTICATED", "", fmt.Sprintf(who, "works { edges { cursor } }"))
	s.refused(t, "BAD_USER_INPUT", "bob", `{ user(userId: "alice") { works(first: 101) { edges { cursor } } } }`)
}

func TestOnlyTheScopeDeclares(t *testing.T) {
	s := start(t)
	one := declarationOf("1", "alice")
	for name, got := range map[string]answer{
		"nobody":        s.declareAs(t, "", "subjects:write", one),
		"no scope":      s.declareAs(t, "alice", "", one),
		"other scopes":  s.declareAs(t, "alice", "moderate subjects:read subjects:writer", one),
		"a development": s.ask(t, "alice", declareDocument, "in", map[string]any{"subjects": []any{one}}),
	} {
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "UNAUTHENTICATED" {
			t.Errorf("%s: got %+v, want UNAUTHENTICATED alone", name, got)
		}
	}
	same(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { version author { userId } } }`), `{"interactive": {"version": 0, "author": null}}`)
}

func TestBadDeclarationsAreRefused(t *testing.T) {
	s := start(t)
	many := make([]any, 101)
	for i := range many {
		many[i] = declarationOf(fmt.Sprint(i), "alice")
	}
	for want, subjects := range map[string][]any{
		"holds 101 entries; at most 100 are allowed": many,
		"input.subjects[1].author is 129 bytes":      {declarationOf("1", "alice"), declarationOf("2", strings.Repeat("a", 129))},
		"author must not be empty":                   {declarationOf("1", "")},
		"author contains U+0000":                     {declarationOf("1", "a\u0000")},
		"subjects[0].bizId":                          {declarationOf("", "alice")},
		"subjects[0].biz must":                       {declaration{"biz": "Video", "bizId": "1", "author": "alice"}},
		"not in the future":                          {declarationOf("1", "alice", "at", time.Now().Add(time.Hour).Format(time.RFC3339))},
		"at must be after 1970":                      {declarationOf("1", "alice", "at", "1960-01-01T00:00:00Z")},
	} {
		got := s.declareAs(t, "owner", "subjects:write", subjects...)
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || !strings.Contains(got.Errors[0].Message, want) {
			t.Errorf("want an error with %q, got %+v", want, got.Errors)
		}
	}
	same(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { author { userId } } }`), `{"interactive": {"author": null}}`)
}

// A deleted subject gets no author, and neither does any other subject of the request.
func TestDeletedSubjectsGetNoAuthor(t *testing.T) {
	s := start(t, withVideos)
	video := s.upload(t, "alice", "film")
	s.ok(t, "alice", `mutation($v: ID!) { deleteVideo(input: {videoId: $v}) { deletedId } }`, "v", video)
	for _, more := range [][]any{nil, {"at", "2020-01-01T00:00:00Z"}} {
		got := s.declareAs(t, "owner", "subjects:write", declarationOf("other", "bob"), declarationOf(video, "bob", more...))
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "NOT_FOUND" || !strings.Contains(got.Errors[0].Message, "input.subjects[1].bizId was not found") {
			t.Errorf("declaring the author of a deleted video: got %+v, want NOT_FOUND with input.subjects[1].bizId", got.Errors)
		}
	}
	same(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "other") { author { userId } } }`), `{"interactive": {"author": null}}`)
	s.declare(t, declarationOf("other", "bob"), declarationOf(video, nil))
}

// The author of a subject may delete the comments on it, until the subject gets another
// author. Only a comment's own author and moderators may edit it.
func TestAuthorsOfSubjectsDeleteCommentsButDoNotEditThem(t *testing.T) {
	s := start(t)
	first, second := s.says(t, "alice", "first", nil), s.says(t, "alice", "second", nil)
	const edit = `mutation($id: ID!) { editComment(input: {id: $id, text: "edited"}) { comment { text author { userId } editedBy { userId } } } }`
	const remove = `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`
	s.refused(t, "NOT_FOUND", "bob", edit, "id", first)
	s.declare(t, declarationOf("1", "bob", "at", "2020-01-01T00:00:00Z"))
	s.refused(t, "NOT_FOUND", "bob", edit, "id", first)
	same(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { text editedAt } } }`, "id", first), `{"node": {"text": "first", "editedAt": null}}`)
	same(t, s.ok(t, "bob", edit, "id", s.says(t, "bob", "own", nil)),
		`{"editComment": {"comment": {"text": "edited", "author": {"userId": "bob"}, "editedBy": null}}}`)
	s.ok(t, "bob", remove, "id", first)
	s.refused(t, "NOT_FOUND", "bob", remove, "id", first)
	s.refused(t, "NOT_FOUND", "carol", remove, "id", second)
	s.declare(t, declarationOf("1", "carol", "at", "2021-01-01T00:00:00Z"))
	s.refused(t, "NOT_FOUND", "bob", remove, "id", second)
	s.ok(t, "carol", remove, "id", second)
}

// withoutCounts is a store whose counts are unavailable until knows is set, as they are
// if the mirror has no slot left for a read.
type withoutCounts struct {
	storage.Store

	knows atomic.Bool
}

func (b *withoutCounts) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	if b.knows.Load() {
		return b.Store.Interactives(ctx, viewer, subjects, kinds)
	}
	out := make([]storage.Interactive, len(subjects))
	for i, subject := range subjects {
		out[i] = storage.Interactive{Subject: subject, Freshness: storage.Unavailable}
	}
	return out, nil
}

// While counts are unavailable, the author of a subject is unknown.
func TestUnknownAuthorMakesDeletionUnavailable(t *testing.T) {
	b := &withoutCounts{}
	s := start(t, behind(b, &b.Store))
	first := s.says(t, "alice", "first", nil)
	s.declare(t, declarationOf("1", "bob"))
	const remove = `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`
	s.refused(t, "UNAVAILABLE", "bob", remove, "id", first)
	s.refused(t, "UNAVAILABLE", "carol", remove, "id", first)
	b.knows.Store(true)
	s.refused(t, "NOT_FOUND", "carol", remove, "id", first)
	s.ok(t, "bob", remove, "id", first)
}

// A payload has the declared author even if counts are unavailable.
func TestDeclaredAuthorsAreKnownWhileCountsAreUnavailable(t *testing.T) {
	b := &withoutCounts{}
	s := start(t, behind(b, &b.Store))
	s.declare(t, declarationOf("1", "carol", "at", "2021-01-01T00:00:00Z"))
	got := s.declare(t, declarationOf("1", "bob", "at", "2020-01-01T00:00:00Z"), declarationOf("2", "alice"), declarationOf("3", nil))
	same(t, got["interactives"], `[{"bizId": "1", "author": null}, {"bizId": "2", "author": {"userId": "alice"}}, {"bizId": "3", "author": null}]`)
	data := s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { author { userId } freshness } }`)
	same(t, data, `{"interactive": {"author": null, "freshness": "UNAVAILABLE"}}`)
}

// Cached authors are loaded with their subjects. If the author of a subject has changed,
// the new author is loaded after the subjects. The cache affects only the number of
// calls.
func TestCachedAuthorsAreLoadedWithTheirSubjects(t *testing.T) {
	var cached map[string]string
	s := start(t, func(set *settings) {
		set.cachedAuthors = func(subjects []storage.Subject) []string {
			ids := make([]string, len(subjects))
			for i := range subjects {
				ids[i] = cached[subjects[i].BizID]
			}
			return ids
		}
	})
	s.declare(t, declarationOf("1", "alice"), declarationOf("2", "bob"), declarationOf("3", "alice"), declarationOf("4", nil))
	s.act(t, time.Now(), storage.Action{User: storage.User{UserID: "carol"}, Subject: storage.User{UserID: "alice"}.Subject(), Kind: storage.KindFollow, Following: true})
	const alice, bob = `{"userId": "alice", "interactive": {"followerCount": 1, "followed": {"__typename": "Followed"}, "author": null}}`,
		`{"userId": "bob", "interactive": {"followerCount": 0, "followed": null, "author": null}}`
	for name, c := range map[string]struct {
		cached map[string]string
		calls  int
	}{
		"none":                       {nil, 2},
		"all":                        {map[string]string{"1": "alice", "2": "bob", "3": "alice"}, 1},
		"one with a previous author": {map[string]string{"1": "alice", "2": "carol", "3": "alice"}, 2},
		"two swapped authors":        {map[string]string{"1": "bob", "2": "alice", "3": "alice"}, 1},
		"one not cached":             {map[string]string{"1": "alice", "3": "alice"}, 2},
		"a subject without an author cached with one": {map[string]string{"1": "alice", "2": "bob", "3": "alice", "4": "carol"}, 1},
	} {
		cached = c.cached
		s.calls.taken(t)
		data := s.ok(t, "carol", `query($s: [SubjectInput!]!) { interactives(subjects: $s) { author { userId interactive { followerCount followed { __typename } author { userId } } } } }`, subjects(5)...)
		if n := s.calls.taken(t)["Interactives"]; n != c.calls {
			t.Errorf("%s: got %d calls of Interactives, want %d", name, n, c.calls)
		}
		same(t, data, `{"interactives": [{"author": null}, {"author": `+alice+`}, {"author": `+bob+`}, {"author": `+alice+`}, {"author": null}]}`)
	}
}

// The subjects of works are read only if they are selected.
func TestWorksWithoutNodesReadNoSubjects(t *testing.T) {
	s := start(t)
	s.declare(t, declarationOf("1", "alice"), declarationOf("2", "alice"))
	for selected, reads := range map[string]int{
		"pageInfo { hasNextPage }":       0,
		"edges { cursor }":               0,
		"e: edges { n: node { bizId } }": 1,
		"... on InteractiveConnection { edges { ... on InteractiveEdge { node { likeCount } } } }": 1,
	} {
		s.calls.taken(t)
		data := s.ok(t, "bob", `{ user(userId: "alice") { works { `+selected+` } } }`)
		if calls := s.calls.taken(t); calls["Interactives"] != reads || calls["Works"] != 1 {
			t.Errorf("%s: got the calls %v, want %d of Interactives and 1 of Works: %v", selected, calls, reads, data)
		}
	}
}

// A change of author is sent as an event, like a change in the counts.
func TestSubscriptionReportsAuthors(t *testing.T) {
	s := start(t)
	for _, user := range []string{"", "bob"} {
		s.declare(t, declarationOf("1", nil))
		watch := s.subscribe(t, user, `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { version author { userId } } }`, nil)
		if got := dig(t, watch.data(t), "author"); got != nil {
			t.Errorf("the initial author: got %v, want none", got)
		}
		s.declare(t, declarationOf("1", "alice"))
		same(t, dig(t, watch.data(t), "author"), `{"userId": "alice"}`)
		watch.end()
	}
}
