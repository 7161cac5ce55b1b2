package resolvers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ovation/storage"
)

const recordDocument = `mutation($in: RecordActionsInput!) { recordActions(input: $in) { recorded changed durability } }`

type entry = map[string]any

func entryOf(action string, userID any, bizID string, more ...any) entry {
	e := entry{"action": action, "userId": userID, "biz": "video", "bizId": bizID, "at": "2024-05-01T12:00:00Z"}
	for i := 0; i < len(more); i += 2 {
		e[more[i].(string)] = more[i+1]
	}
	return e
}

// recordAs records actions, as a user whose token has the given scope.
func (s *service) recordAs(t *testing.T, userID, scope, requestID string, actions ...any) answer {
	t.Helper()
	return s.askWith(t, userID, scope, recordDocument, map[string]any{"in": map[string]any{"requestId": requestID, "actions": actions}})
}

// recorded records actions as a back end, and fails the test if that is refused.
func (s *service) recorded(t *testing.T, requestID string, actions ...any) any {
	t.Helper()
	got := s.recordAs(t, "site", "actions:write", requestID, actions...)
	if len(got.Errors) > 0 {
		t.Fatalf("recording actions: got %+v, want no errors", got.Errors)
	}
	return got.Data["recordActions"]
}

func TestActionsOfManyUsersAreRecordedOnce(t *testing.T) {
	s := start(t)
	folder := s.newFolder(t, "bob", "Weekend", true)
	s.ok(t, "carol", `mutation { dislike(input: {biz: "video", bizId: "1"}) { changed } }`)
	all := []any{
		entryOf("READ", nil, "1"), entryOf("READ", "alice", "1", "at", "2024-05-01T11:00:00Z"), entryOf("READ", "alice", "1"),
		entryOf("LIKE", "alice", "1"), entryOf("LIKE", "carol", "1"), // carol dislikes it since
		entryOf("LIKE", "bob", "1"), entryOf("UNLIKE", "bob", "1", "at", "2024-05-01T12:00:01Z"),
		entryOf("DISLIKE", "dave", "1"), entryOf("UNDISLIKE", "dave", "1"), // at the same time: the last wins
		entryOf("COLLECT", "alice", "1"), entryOf("COLLECT", "bob", "1", "folderId", folder),
		entryOf("COLLECT", "carol", "1"), entryOf("UNCOLLECT", "carol", "1"),
		entryOf("FOLLOW", "alice", "bob", "biz", "user"), entryOf("FOLLOW", "alice", "carol", "biz", "user"), entryOf("UNFOLLOW", "alice", "carol", "biz", "user"),
	}
	// Changed are three reads, the like of alice, two collections and a follow.
	want := fmt.Sprintf(`{"recorded": %d, "changed": 7, "durability": "PERSISTED"}`, len(all))
	for range 2 {
		same(t, s.recorded(t, "day 1", all...), want)
		same(t, s.ok(t, "alice", `{ interactive(biz: "video", bizId: "1") { readCount readerCount likeCount dislikeCount collectCount liked { reaction at } read { times firstAt lastAt } } }`),
			`{"interactive": {"readCount": 3, "readerCount": 1, "likeCount": 1, "dislikeCount": 1, "collectCount": 2, "liked": {"reaction": "LIKE", "at": "2024-05-01T12:00:00Z"},
				"read": {"times": 2, "firstAt": "2024-05-01T11:00:00Z", "lastAt": "2024-05-01T12:00:00Z"}}}`)
	}
	same(t, s.ok(t, "bob", `{ interactive(biz: "video", bizId: "1") { liked { at } collected { at folder { name } } } user(userId: "alice") { following { edges { node { interactive { bizId } } } } } }`),
		`{"interactive": {"liked": null, "collected": {"at": "2024-05-01T12:00:00Z", "folder": {"name": "Weekend"}}},
			"user": {"following": {"edges": [{"node": {"interactive": {"bizId": "bob"}}}]}}}`)
	same(t, s.recorded(t, "day 2", entryOf("LIKE", "alice", "1", "at", "2020-01-01T00:00:00Z")), `{"recorded": 1, "changed": 0, "durability": "PERSISTED"}`)
	same(t, s.recorded(t, "day 3", entryOf("LIKE", "carol", "1", "at", time.Now().Format(time.RFC3339Nano))), `{"recorded": 1, "changed": 1, "durability": "PERSISTED"}`)
}

// A token needs the scope, and reaches only users of its own tenant.
func TestOnlyTheScopeRecordsActions(t *testing.T) {
	s := start(t)
	one := entryOf("LIKE", "alice", "1")
	for name, got := range map[string]answer{
		"nobody":       s.recordAs(t, "", "actions:write", "1", one),
		"no scope":     s.recordAs(t, "alice", "", "1", one),
		"other scopes": s.recordAs(t, "alice", "moderate subjects:write actions:read", "1", one),
		"a viewer":     s.ask(t, "alice", recordDocument, "in", map[string]any{"requestId": "1", "actions": []any{one}}),
	} {
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "UNAUTHENTICATED" {
			t.Errorf("%s: got %+v, want UNAUTHENTICATED alone", name, got)
		}
	}
	same(t, s.ok(t, "alice", `{ interactive(biz: "video", bizId: "1") { likeCount } }`), `{"interactive": {"likeCount": 0}}`)
	s.recorded(t, "1", one)
	const likes = `{ interactive(biz: "video", bizId: "1") { likeCount liked { at } } }`
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, likes)
	same(t, other.Data, `{"interactive": {"likeCount": 0, "liked": null}}`)
}

func TestBadBatchesOfActionsAreRefused(t *testing.T) {
	s := start(t)
	folder, good := s.newFolder(t, "bob", "Weekend", true), entryOf("LIKE", "alice", "1")
	many := make([]any, storage.MaxActionBatch+1)
	for i := range many {
		many[i] = good
	}
	deleted := s.newFolder(t, "bob", "Deleted", false)
	s.ok(t, "bob", `mutation($id: ID!) { deleteFolder(input: {id: $id}) { deletedId } }`, "id", deleted)
	for want, of := range map[string]struct {
		code, requestID string
		actions         []any
	}{
		"input.actions holds 0 entries; 1 to 1000 are allowed":    {"BAD_USER_INPUT", "1", nil},
		"input.actions holds 1001 entries; 1 to 1000 are allowed": {"BAD_USER_INPUT", "1", many},
		"input.requestId must not be empty":                       {"BAD_USER_INPUT", "", []any{good}},
		"input.requestId must be 1 to 64 printable":               {"BAD_USER_INPUT", strings.Repeat("a", 65), []any{good}},
		"input.actions[1].at must be after 1970 and not in":       {"BAD_USER_INPUT", "1", []any{good, entryOf("LIKE", "alice", "1", "at", time.Now().Add(time.Hour).Format(time.RFC3339))}},
		"input.actions[0].at must be after 1970":                  {"BAD_USER_INPUT", "1", []any{entryOf("LIKE", "alice", "1", "at", "1969-12-31T23:59:59Z")}},
		"input.actions[1].userId must not be empty: anonymous":    {"BAD_USER_INPUT", "1", []any{good, entryOf("LIKE", nil, "1")}},
		"input.actions[1].userId must not be empty; null is":      {"BAD_USER_INPUT", "1", []any{good, entryOf("READ", "", "1")}},
		"input.actions[1].userId is 129 bytes":                    {"BAD_USER_INPUT", "1", []any{good, entryOf("READ", strings.Repeat("a", 129), "1")}},
		"input.actions[2].biz must":                               {"BAD_USER_INPUT", "1", []any{good, good, entryOf("LIKE", "alice", "1", "biz", "Video")}},
		"input.actions[0].bizId contains U+0000":                  {"BAD_USER_INPUT", "1", []any{entryOf("LIKE", "alice", "\u0000")}},
		"input.actions[1].bizId must not be the user's own":       {"BAD_USER_INPUT", "1", []any{good, entryOf("FOLLOW", "alice", "alice", "biz", "user")}},
		"input.actions[0].folderId must be omitted":               {"BAD_USER_INPUT", "1", []any{entryOf("UNCOLLECT", "bob", "1", "folderId", folder)}},
		"input.actions[1].folderId was not found":                 {"NOT_FOUND", "1", []any{good, entryOf("COLLECT", "alice", "1", "folderId", folder)}},
		"input.actions[2].folderId was not found":                 {"NOT_FOUND", "1", []any{good, entryOf("COLLECT", "bob", "1", "folderId", folder), entryOf("COLLECT", "bob", "2", "folderId", deleted)}},
	} {
		got := s.recordAs(t, "site", "actions:write", of.requestID, of.actions...)
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != of.code || !strings.Contains(got.Errors[0].Message, want) {
			t.Errorf("want %s with %q, got %+v", of.code, want, got.Errors)
		}
	}
	same(t, s.ok(t, "alice", `{ interactive(biz: "video", bizId: "1") { likeCount readCount collectCount version } }`),
		`{"interactive": {"likeCount": 0, "readCount": 0, "collectCount": 0, "version": 0}}`)
	s.recorded(t, "1", good)
	got := s.recordAs(t, "site", "actions:write", "1", entryOf("LIKE", "bob", "1"))
	if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || !strings.Contains(got.Errors[0].Message, "input.requestId was used for something else") {
		t.Errorf("another request with the same requestId: got %+v, want BAD_USER_INPUT", got.Errors)
	}
}

// Values of the wrong type are errors that name the entry.
func TestMalformedEntriesAreNamed(t *testing.T) {
	s := start(t)
	for want, bad := range map[string]entry{
		"$in.actions[1].action":        entryOf("EAT", "alice", "1"),
		"$in.actions[1].userId":        entryOf("LIKE", []any{}, "1"),
		"$in.actions[1] has a member":  entryOf("LIKE", "alice", "1", "times", 5),
		"$in.actions[1].at is missing": {"action": "LIKE", "userId": "alice", "biz": "video", "bizId": "1"},
		"$in.actions[1].at must be of type Time (RFC 3339, such as 2026-01-31T12:00:00Z), not the string": entryOf("LIKE", "alice", "1", "at", "yesterday"),
		"$in.actions[1].at must be of type Time (RFC 3339, such as 2026-01-31T12:00:00Z), not 5":          entryOf("LIKE", "alice", "1", "at", 5),
	} {
		got := s.ask(t, "alice", recordDocument, "in", map[string]any{"requestId": "1", "actions": []any{entryOf("LIKE", "alice", "1"), bad}})
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || !strings.Contains(got.Errors[0].Message, want) {
			t.Errorf("want BAD_USER_INPUT with %q, got %+v", want, got.Errors)
		}
	}
}

func TestMalformedTimesAreRefusedInDocuments(t *testing.T) {
	s := start(t)
	const document = `mutation { recordActions(input: {requestId: "1", actions: [{action: LIKE, userId: "alice", biz: "video", bizId: "1", at: "yesterday"}]}) { recorded } }`
	if got := s.refused(t, "BAD_USER_INPUT", "alice", document); !strings.Contains(got, "Time (RFC 3339") {
		t.Errorf("got %q, want the form of a time", got)
	}
}

// A batch looks up its folders in one call, and is persisted as one message.
func TestBatchesOfActionsTakeConstantCalls(t *testing.T) {
	s := start(t)
	folders := []string{s.newFolder(t, "bob", "First", true), s.newFolder(t, "bob", "Second", true)}
	var calls []string
	for _, n := range []int{2, storage.MaxActionBatch} {
		actions := make([]any, n)
		for i := range actions {
			actions[i] = entryOf("COLLECT", "bob", fmt.Sprint(n, i), "folderId", folders[i%2])
		}
		s.calls.taken(t)
		same(t, s.recorded(t, fmt.Sprint(n), actions...), fmt.Sprintf(`{"recorded": %d, "changed": %d, "durability": "PERSISTED"}`, n, n))
		calls = append(calls, fmt.Sprint(s.calls.taken(t)))
	}
	if calls[0] != calls[1] || calls[0] != "map[FoldersOf:1]" {
		t.Errorf("got the lookups %v, want one for the folders for both", calls)
	}
}

// A request of 1,000 actions with long ids fits into a body.
func TestLargestBatchFitsIntoABody(t *testing.T) {
	s := start(t)
	var list strings.Builder
	for i := range storage.MaxActionBatch {
		if i > 0 {
			list.WriteString(",")
		}
		id := fmt.Sprintf("%0128d", i)
		fmt.Fprintf(&list, `{"action": "UNCOLLECT", "userId": "%s", "biz": "%s", "bizId": "%s", "at": "2024-05-01T12:00:00.123456+01:00"}`, id, strings.Repeat("b", 32), id)
	}
	body := `{"query": "mutation($in: RecordActionsInput!) { recordActions(input: $in) { recorded } }", "variables": {"in": {"requestId": "1", "actions": [` + list.String() + `]}}}`
	status, _, text := s.exchange(t, http.MethodPost, "/graphql", body, "X-Ovation-User", "alice")
	if status != http.StatusOK || !strings.Contains(text, "this needs a token whose scope holds actions:write") {
		t.Errorf("a body of %d bytes: got %d with %.300s, want it understood and refused for its scope", len(body), status, text)
	}
}
