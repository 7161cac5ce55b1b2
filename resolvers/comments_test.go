package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// says adds a user's comment on video 1, or the user's reply to replyTo, and returns the
// id of the new comment.
func (s *service) says(t *testing.T, user, text string, replyTo any) string {
	t.Helper()
	data := s.ok(t, user, `mutation($t: String!, $r: ID) { addComment(input: {biz: "video", bizId: "1", text: $t, replyTo: $r}) { comment { id } } }`, "t", text, "r", replyTo)
	return dig(t, data, "addComment", "comment", "id").(string)
}

func TestCommentsAreAddedEditedAndDeleted(t *testing.T) {
	s := start(t)
	same(t, s.ok(t, "alice", `mutation { addComment(input: {biz: "video", bizId: "1", text: " to be\u200f \nor not ", requestId: "r1"}) {
		comment { text author { userId } editedAt deleted replyCount parent { id } subject { bizId commentCount } interactive { biz likeCount } }
		interactive { commentCount comments { edges { node { text } } } } } }`),
		`{"addComment":{"comment":{"text":"to be\u200f \nor not","author":{"userId":"alice"},"editedAt":null,"deleted":false,"replyCount":0,"parent":null,
		"subject":{"bizId":"1","commentCount":1},"interactive":{"biz":"comment","likeCount":0}},
		"interactive":{"commentCount":1,"comments":{"edges":[{"node":{"text":"to be\u200f \nor not"}}]}}}}`)
	top := s.says(t, "bob", "top", nil)
	reply := s.says(t, "alice", "reply", top)
	number := dig(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { commentId text author { userId } parent { text } } } }`, "id", reply), "node", "commentId")
	s.ok(t, "carol", `mutation($n: ID!) { like(input: {biz: "comment", bizId: $n}) { changed } }`, "n", number)

	edited := s.ok(t, "alice", `mutation($id: ID!) { editComment(input: {id: $id, text: "better"}) { comment { text editedAt interactive { likeCount } } interactive { commentCount } } }`, "id", reply)
	if at := dig(t, edited, "editComment", "comment", "editedAt"); at == nil {
		t.Error("an edited comment: got editedAt null, want a time")
	}
	same(t, dig(t, edited, "editComment", "comment", "text"), `"better"`)

	const thread = `{ interactive(biz: "video", bizId: "1") { commentCount comments { edges { node { text deleted author { userId } replyCount
		replies(first: 5) { edges { node { text parent { text deleted } } } } } } } } }`
	same(t, s.ok(t, "bob", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId interactive { commentCount } } }`, "id", top),
		fmt.Sprintf(`{"deleteComment":{"deletedId":%q,"interactive":{"commentCount":2}}}`, top))
	same(t, s.ok(t, "", thread), `{"interactive":{"commentCount":2,"comments":{"edges":[
		{"node":{"text":"","deleted":true,"author":null,"replyCount":1,"replies":{"edges":[{"node":{"text":"better","parent":{"text":"","deleted":true}}}]}}},
		{"node":{"text":"to be\u200f \nor not","deleted":false,"author":{"userId":"alice"},"replyCount":0,"replies":{"edges":[]}}}]}}}`)
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", reply)
	same(t, dig(t, s.ok(t, "", thread), "interactive", "commentCount"), `1`)
	same(t, s.ok(t, "bob", `query($id: ID!) { node(id: $id) { id } }`, "id", top), `{"node":null}`)
}

func TestCommentsArePaged(t *testing.T) {
	s := start(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, s.says(t, "alice", fmt.Sprint(i), nil))
	}
	for i := range 3 {
		s.says(t, "bob", fmt.Sprint("re ", i), ids[0])
	}
	number := dig(t, s.ok(t, "alice", `query($id: ID!) { node(id: $id) { ... on Comment { commentId } } }`, "id", ids[2]), "node", "commentId")
	s.act(t, storage.Time(1e15), storage.Action{
		User: storage.User{UserID: "bob"}, Subject: storage.Subject{Biz: storage.BizComment, BizID: number.(string)}, Kind: storage.KindReaction, Reaction: storage.Like,
	})
	for order, want := range map[string]string{"NEWEST": "4 3 2 1 0", "OLDEST": "0 1 2 3 4", "TOP": "2 4 3 1 0"} {
		if got := s.pages(t, "", `interactive(biz: "video", bizId: "1")`, "comments(order: "+order+", %s)", "text", 2); strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", order, got, want)
		}
	}
	page := dig(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { replies(first: 2) { edges { node { text } } pageInfo { endCursor } } } } }`, "id", ids[0]), "node", "replies")
	same(t, dig(t, page, "edges"), `[{"node":{"text":"re 0"}},{"node":{"text":"re 1"}}]`)
	end := dig(t, page, "pageInfo", "endCursor")
	same(t, s.ok(t, "", `query($id: ID!, $a: String) { node(id: $id) { ... on Comment { replies(after: $a) { edges { node { text } } } } } }`, "id", ids[0], "a", end),
		`{"node":{"replies":{"edges":[{"node":{"text":"re 2"}}]}}}`)
	s.refused(t, "BAD_USER_INPUT", "", `query($a: String) { interactive(biz: "video", bizId: "1") { comments(after: $a, order: OLDEST) { edges { cursor } } } }`, "a", end)
}

func TestBadCommentsAreRefused(t *testing.T) {
	s := start(t)
	top := s.says(t, "alice", "top", nil)
	reply := s.says(t, "alice", "reply", top)
	gone := s.says(t, "alice", "gone", nil)
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", gone)
	folder := s.newFolder(t, "alice", "Films", true)
	const add = `mutation($k: String = "video", $b: ID = "1", $t: String = "text", $r: ID, $q: String) { addComment(input: {biz: $k, bizId: $b, text: $t, replyTo: $r, requestId: $q}) { comment { id } } }`
	const edit = `mutation($id: ID!, $t: String = "text") { editComment(input: {id: $id, text: $t}) { comment { id } } }`
	const remove = `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`
	s.ok(t, "alice", add, "t", "once", "q", "request")
	for name, c := range map[string]struct {
		code, user, query string
		variables         []any
		message           string
	}{
		"no viewer":                       {"UNAUTHENTICATED", "", add, nil, "token"},
		"blank":                           {"BAD_USER_INPUT", "alice", add, []any{"t", " \n\u200e "}, "input.text must not be empty"},
		"2,001 characters":                {"BAD_USER_INPUT", "alice", add, []any{"t", strings.Repeat("é", 2001)}, "input.text is 2001 characters long"},
		"a control character":             {"BAD_USER_INPUT", "alice", add, []any{"t", "a\x1b[2J"}, "input.text contains U+001B (a control character), which is not allowed"},
		"an override of the direction":    {"BAD_USER_INPUT", "alice", add, []any{"t", "a\u202eb"}, "input.text contains U+202E (an override of the direction), which is not allowed"},
		"a bad subject":                   {"BAD_USER_INPUT", "alice", add, []any{"b", ""}, "input.bizId"},
		"a comment on a comment":          {"BAD_USER_INPUT", "alice", add, []any{"k", "comment", "b", "1"}, "input.biz must not be comment"},
		"a reply to a reply":              {"BAD_USER_INPUT", "alice", add, []any{"r", reply}, "input.replyTo"},
		"a reply to a deleted comment":    {"NOT_FOUND", "alice", add, []any{"r", gone}, "input.replyTo"},
		"a reply on another subject":      {"NOT_FOUND", "alice", add, []any{"b", "2", "r", top}, "input.replyTo"},
		"a reply to a folder":             {"NOT_FOUND", "alice", add, []any{"r", folder}, "input.replyTo"},
		"a reply to an unknown id":        {"NOT_FOUND", "alice", add, []any{"r", "nothing"}, "input.replyTo"},
		"an empty request id":             {"BAD_USER_INPUT", "alice", add, []any{"q", ""}, "input.requestId"},
		"a long request id":               {"BAD_USER_INPUT", "alice", add, []any{"q", strings.Repeat("x", 65)}, "input.requestId"},
		"a request id used before":        {"BAD_USER_INPUT", "alice", add, []any{"t", "twice", "q", "request"}, "input.requestId"},
		"another user's comment":          {"NOT_FOUND", "bob", edit, []any{"id", top}, "input.id"},
		"another user's comment, deleted": {"NOT_FOUND", "bob", remove, []any{"id", top}, "input.id"},
		"a deleted comment":               {"NOT_FOUND", "alice", edit, []any{"id", gone}, "input.id"},
		"deleted again":                   {"NOT_FOUND", "alice", remove, []any{"id", gone}, "input.id"},
		"edited to a blank text":          {"BAD_USER_INPUT", "alice", edit, []any{"id", top, "t", "\t"}, "input.text"},
		"edited anonymously":              {"UNAUTHENTICATED", "", edit, []any{"id", top}, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.refused(t, c.code, c.user, c.query, c.variables...); !strings.Contains(got, c.message) {
				t.Errorf("got the message %q, want %q in it", got, c.message)
			}
		})
	}
	first := dig(t, s.ok(t, "alice", add, "t", "once", "q", "request"), "addComment", "comment", "id")
	same(t, dig(t, s.ok(t, "alice", add, "t", "once", "q", "request"), "addComment", "comment", "id"), fmt.Sprintf("%q", first))
	same(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { commentCount } }`), `{"interactive":{"commentCount":3}}`)
}

// Users whose token has the scope viewer.Moderate may change other users' comments.
func TestModeratorsChangeCommentsOfOthers(t *testing.T) {
	s := start(t)
	top := s.says(t, "alice", "top", nil)
	const remove = `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`
	id := map[string]any{"id": top}
	s.askWith(t, "mod", "read moderates", remove, id).refused(t, "NOT_FOUND", remove)
	if got := s.askWith(t, "mod", "read moderate", remove, id); len(got.Errors) > 0 {
		t.Errorf("with the scope: got %+v, want no errors", got)
	}
}

// A comment names the moderator whose edit its text is, until its author edits it again.
func TestEditsOfModeratorsShow(t *testing.T) {
	s := start(t)
	id := s.says(t, "alice", "spiteful", nil)
	cursor := s.changesCursor(t, "1")
	const fields = `text author { userId } editedBy { userId }`
	const edit = `mutation($id: ID!, $text: String!) { editComment(input: {id: $id, text: $text}) { comment { ` + fields + ` } } }`
	edits := func(user, scope, text, want string) {
		t.Helper()
		got := s.askWith(t, user, scope, edit, map[string]any{"id": id, "text": text})
		if len(got.Errors) > 0 {
			t.Fatal(got.Errors)
		}
		same(t, dig(t, got.Data, "editComment", "comment"), want)
		same(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { `+fields+` } } }`, "id", id), `{"node": `+want+`}`)
		same(t, s.ok(t, "", `{ interactive(biz: "video", bizId: "1") { comments { edges { node { `+fields+` } } } } }`),
			`{"interactive": {"comments": {"edges": [{"node": `+want+`}]}}}`)
	}
	edits("mod", "moderate", "spiteful", `{"text": "spiteful", "author": {"userId": "alice"}, "editedBy": null}`) // not a change
	edits("mod", "moderate", "kind", `{"text": "kind", "author": {"userId": "alice"}, "editedBy": {"userId": "mod"}}`)
	stream := s.subscribe(t, "", `subscription($a: String) { commentsChanged(biz: "video", bizId: "1", after: $a) { kind comment { `+fields+` } } }`, map[string]any{"a": cursor})
	same(t, stream.nextCommentEvent(t), `{"kind": "EDITED", "comment": {"text": "kind", "author": {"userId": "alice"}, "editedBy": {"userId": "mod"}}}`)
	edits("alice", "", "kind", `{"text": "kind", "author": {"userId": "alice"}, "editedBy": {"userId": "mod"}}`) // not a change
	edits("eve", "moderate", "kinder", `{"text": "kinder", "author": {"userId": "alice"}, "editedBy": {"userId": "eve"}}`)
	edits("alice", "moderate", "mine", `{"text": "mine", "author": {"userId": "alice"}, "editedBy": null}`)
	edits("mod", "moderate", "kind", `{"text": "kind", "author": {"userId": "alice"}, "editedBy": {"userId": "mod"}}`)

	reply := s.says(t, "bob", "reply", id)
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", id)
	same(t, s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Comment { parent { `+fields+` } } } }`, "id", reply),
		`{"node": {"parent": {"text": "", "author": null, "editedBy": null}}}`)
}

func TestAuthorsOfCommentsShowNoMoreToTheAnonymous(t *testing.T) {
	s := start(t)
	s.says(t, "alice", "top", nil)
	const who = `{ interactive(biz: "video", bizId: "1") { comments { edges { node { author { %s } } } } } }`
	same(t, dig(t, s.ok(t, "", fmt.Sprintf(who, "userId")), "interactive", "comments", "edges", 0, "node", "author"), `{"userId":"alice"}`)
	for _, list := range []string{"likes", "folders"} {
		s.refused(t, "UNAUTHENTICATED", "", fmt.Sprintf(who, list+" { edges { cursor } }"))
	}
	for _, viewer := range []string{"", "bob"} {
		s.refused(t, "NOT_FOUND", viewer, fmt.Sprintf(who, "reads { edges { cursor } }"))
	}
}

const watchComments = `subscription($a: String) { commentsChanged(biz: "video", bizId: "1", after: $a) { kind cursor comment { text author { userId } parent { text } } } }`

// nextCommentEvent waits for the next event of watchComments.
func (s *stream) nextCommentEvent(t *testing.T) map[string]any {
	t.Helper()
	return s.event(t, "commentsChanged").(map[string]any)
}

// changesCursor returns the changesCursor of a video's comments. It comes from the engine
// that executes the subscriptions.
func (s *service) changesCursor(t *testing.T, bizID string) any {
	t.Helper()
	var data struct{ Data map[string]any }
	document := fmt.Sprintf(`{ interactive(biz: "video", bizId: %q) { comments { changesCursor } } }`, bizID)
	must.Succeed(t, json.Unmarshal(firstEvent(t, s, "", operation{text: document}), &data))
	return dig(t, data.Data, "interactive", "comments", "changesCursor")
}

// nextAsync requests the next event, so that the stream begins, and returns a function that
// waits for the event.
func (s *stream) nextAsync() func() *graphql.Response {
	got := make(chan *graphql.Response, 1)
	go func() { got <- s.next() }()
	return func() *graphql.Response { return <-got }
}

func TestCommentsChangedMissesNothing(t *testing.T) {
	s := start(t)
	top := s.says(t, "alice", "top", nil)
	cursor := s.changesCursor(t, "1")
	s.says(t, "bob", "reply", top)
	s.ok(t, "alice", `mutation($id: ID!) { editComment(input: {id: $id, text: "TOP"}) { comment { id } } }`, "id", top)

	alice, nobody := s.subscribe(t, "alice", watchComments, map[string]any{"a": cursor}), s.subscribe(t, "", watchComments, map[string]any{"a": cursor})
	var last any
	for _, one := range []*stream{alice, nobody} {
		for _, want := range []string{
			`{"kind":"ADDED","comment":{"text":"reply","author":{"userId":"bob"},"parent":{"text":"TOP"}}}`,
			`{"kind":"EDITED","comment":{"text":"TOP","author":{"userId":"alice"},"parent":null}}`,
		} {
			got := one.nextCommentEvent(t)
			last = got["cursor"]
			delete(got, "cursor")
			same(t, got, want)
		}
	}
	later := alice.nextAsync()
	s.ok(t, "alice", `mutation($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }`, "id", top)
	if got := later(); !strings.Contains(string(got.Data), `"kind":"DELETED","cursor"`) || !strings.Contains(string(got.Data), `"author":null`) {
		t.Errorf("the event of the deletion: got %s, want DELETED with a cursor and no author", got.Data)
	}
	// A stream that was interrupted continues at its cursor.
	alice.end()
	again := s.subscribe(t, "alice", watchComments, map[string]any{"a": last})
	same(t, again.nextCommentEvent(t)["kind"], `"DELETED"`)
	// A stream without a cursor begins now, without earlier changes.
	fresh := s.subscribe(t, "alice", watchComments, nil)
	s.says(t, "bob", "new", nil)
	same(t, dig(t, fresh.nextCommentEvent(t), "comment", "text"), `"new"`)
	same(t, dig(t, again.nextCommentEvent(t), "comment", "text"), `"new"`)
	fresh.end()
	if got := fresh.next(); got != nil {
		t.Errorf("after the end of the stream: got %+v, want nothing", got)
	}
	for _, bad := range []any{"bad", s.changesCursor(t, "2")} {
		if got := s.subscribe(t, "alice", watchComments, map[string]any{"a": bad}).next(); got == nil || len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" {
			t.Errorf("an invalid cursor: got %+v, want BAD_USER_INPUT alone", got)
		}
	}
}

// A stream that is far behind receives everything, page by page.
func TestCommentsChangedCatchesUp(t *testing.T) {
	s := start(t)
	cursor := s.changesCursor(t, "1")
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	const many = 250
	comments := make([]storage.NewComment, many)
	for i := range comments {
		comments[i] = storage.NewComment{Subject: subject, User: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Text: fmt.Sprint(i)}
	}
	_, err := s.store.AddComments(context.Background(), comments)
	must.Succeed(t, err)
	stream := s.subscribe(t, "", watchComments, map[string]any{"a": cursor})
	for i := range many {
		if got := dig(t, stream.nextCommentEvent(t), "comment", "text"); got != fmt.Sprint(i) {
			t.Fatalf("event %d: got comment %v, want %d", i, got, i)
		}
	}
}

// A subscription costs as much as all comments that one read can load.
func TestCommentsChangedCostsOneBatch(t *testing.T) {
	s := start(t)
	const each = 1 + 1 + (1 + 100) + 1 + 100*2 // comment, interactive, likers, edges
	_, errs := s.engine.CreateOperationContext(graphql.StartOperationTrace(viewer.NewContext(t.Context(), storage.User{Tenant: storage.DefaultTenant, UserID: "alice"})), &graphql.RawParams{
		Query: `subscription { commentsChanged(biz: "video", bizId: "1") { comment { interactive { likers(first: 100) { edges { node { at } } } } } } }`,
	})
	if want := fmt.Sprintf("costs %d:", 1+20*each); len(errs) != 1 || errs[0].Extensions["code"] != "LIMIT_EXCEEDED" || !strings.Contains(errs[0].Message, want) {
		t.Errorf("want an error with %q, got %v", want, errs)
	}
}

// delayedChanges is a store that, when hold is set, delays the result of the next read of
// changes.
type delayedChanges struct {
	storage.Store

	hold          atomic.Bool
	held, release chan struct{}
}

func (h *delayedChanges) CommentChanges(ctx context.Context, query storage.CommentChangesQuery) ([]storage.Comment, error) {
	found, err := h.Store.CommentChanges(ctx, query)
	if h.hold.CompareAndSwap(true, false) {
		close(h.held)
		<-h.release
	}
	return found, err
}

// Two streams at the same position share a read only if the read began late enough for
// both.
func TestCommentsChangedWaitsForNoReadThatBeganTooEarly(t *testing.T) {
	h := &delayedChanges{held: make(chan struct{}), release: make(chan struct{})}
	s := start(t, behind(h, &h.Store))
	release := sync.OnceFunc(func() { close(h.release) })
	defer release()
	cursor := s.changesCursor(t, "1")
	s.says(t, "alice", "first", nil)
	h.hold.Store(true)
	early := s.subscribe(t, "", watchComments, map[string]any{"a": cursor})
	first := early.nextAsync()
	<-h.held
	s.says(t, "alice", "second", nil)

	late := s.subscribe(t, "", watchComments, map[string]any{"a": cursor})
	texts := make(chan string, 2)
	go func() {
		defer close(texts)
		for range cap(texts) {
			if got := late.next(); got != nil {
				texts <- string(got.Data) // a copy: the next response reuses the memory
			}
		}
	}()
	for _, want := range []string{"first", "second"} {
		select {
		case got := <-texts:
			if !strings.Contains(got, want) {
				t.Fatalf("want the %s comment, got %s", want, got)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("the %s comment is not sent", want)
		}
	}
	release()
	if got := first(); !strings.Contains(string(got.Data), "first") {
		t.Errorf("the first event: got %s, want the comment first", got.Data)
	}
	same(t, dig(t, early.nextCommentEvent(t), "comment", "text"), `"second"`)
}

// failingComments is a store in which some reads of comments by key fail.
type failingComments struct {
	storage.Store

	fail atomic.Int32 // number of reads that will fail
}

func (f *failingComments) CommentsOf(ctx context.Context, keys []storage.CommentKey) ([]*storage.Comment, error) {
	if f.fail.Add(-1) >= 0 {
		return nil, storage.ErrUnavailable
	}
	return f.Store.CommentsOf(ctx, keys)
}

// An event is sent only when everything that the operation selects from it can be loaded.
// An event with an error would have no cursor, and the cursor of the next event would
// skip it.
func TestCommentsChangedSkipsNoEventThatCannotBeLoaded(t *testing.T) {
	f := &failingComments{}
	s := start(t, behind(f, &f.Store))
	top := s.says(t, "alice", "top", nil)
	stream := s.subscribe(t, "alice", watchComments, map[string]any{"a": s.changesCursor(t, "1")})
	next := stream.nextAsync()
	f.fail.Store(2)
	s.says(t, "bob", "reply", top)
	if got := next(); len(got.Errors) > 0 || !strings.Contains(string(got.Data), `"parent":{"text":"top"}`) {
		t.Errorf("got %s, %v, want a comment below top and no errors", got.Data, got.Errors)
	}
}
