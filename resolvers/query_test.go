package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestInteractivesComeInTheOrderAskedWithRepeats(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "2"}) { changed } }`)
	data := s.ok(t, "alice", `{ interactives(subjects: [
		{biz: "video", bizId: "3"}, {biz: "video", bizId: "2"}, {biz: "article", bizId: "2"}, {biz: "video", bizId: "2"}
	]) { biz bizId likeCount liked { reaction } } }`)
	same(t, data["interactives"], `[
		{"biz":"video","bizId":"3","likeCount":0,"liked":null},
		{"biz":"video","bizId":"2","likeCount":1,"liked":{"reaction":"LIKE"}},
		{"biz":"article","bizId":"2","likeCount":0,"liked":null},
		{"biz":"video","bizId":"2","likeCount":1,"liked":{"reaction":"LIKE"}}]`)
	data = s.ok(t, "alice", `{ interactives(subjects: []) { biz } }`)
	same(t, data["interactives"], `[]`)
}

func TestRootFieldsBesideEachOtherLoadTogether(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	s.calls.taken(t)
	data := s.ok(t, "alice", `{
		a: interactive(biz: "video", bizId: "1") { likeCount }
		b: interactive(biz: "video", bizId: "2") { likeCount }
		c: interactives(subjects: [{biz: "video", bizId: "1"}, {biz: "video", bizId: "3"}]) { likeCount liked { reaction } } }`)
	same(t, data, `{"a":{"likeCount":1},"b":{"likeCount":0},
		"c":[{"likeCount":1,"liked":{"reaction":"LIKE"}},{"likeCount":0,"liked":null}]}`)
	if calls := s.calls.taken(t); calls["Interactives"] != 1 {
		t.Errorf("three root fields took %v calls, want one", calls)
	}
}

func TestBadSubjectsAreRefusedByName(t *testing.T) {
	s := start(t)
	for _, tt := range []struct{ biz, id, message string }{
		{"Video", "1", "biz must be"},
		{"video", strings.Repeat("é", 65), "bizId is 130 bytes long; at most 128"},
		{"video", "a\ufffdb", "bizId contains U+FFFD (the replacement character)"},
	} {
		const one = `query($biz: String!, $id: ID!) { interactive(biz: $biz, bizId: $id) { likeCount } }`
		if got := s.refused(t, "BAD_USER_INPUT", "", one, "biz", tt.biz, "id", tt.id); !strings.Contains(got, tt.message) {
			t.Errorf("one subject: got %q, want %q in it", got, tt.message)
		}
		const many = `query($biz: String!, $id: ID!) {
			interactives(subjects: [{biz: "video", bizId: "1"}, {biz: $biz, bizId: $id}]) { likeCount } }`
		if got := s.refused(t, "BAD_USER_INPUT", "", many, "biz", tt.biz, "id", tt.id); !strings.Contains(got, "subjects[1]."+tt.message) {
			t.Errorf("a list: got %q, want subjects[1].%s", got, tt.message)
		}
		const like = `mutation($biz: String!, $id: ID!) { like(input: {biz: $biz, bizId: $id}) { changed } }`
		if got := s.refused(t, "BAD_USER_INPUT", "alice", like, "biz", tt.biz, "id", tt.id); !strings.Contains(got, "input."+tt.message) {
			t.Errorf("a mutation: got %q, want input.%s", got, tt.message)
		}
	}
}

func TestLongestValidSubject(t *testing.T) {
	s := start(t)
	biz, id := strings.Repeat("b", 32), strings.Repeat("é", 64)
	data := s.ok(t, "alice", `mutation($biz: String!, $id: ID!) {
		like(input: {biz: $biz, bizId: $id}) { interactive { id bizId likeCount } } }`, "biz", biz, "id", id)
	node := dig(t, data, "like", "interactive", "id")
	data = s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Interactive { bizId likeCount } } }`, "id", node)
	same(t, data["node"], fmt.Sprintf(`{"bizId":%q,"likeCount":1}`, id))
}

func TestMoreThanAHundredIDsAreRefused(t *testing.T) {
	s := start(t)
	ids := make([]string, 101)
	for i := range ids {
		ids[i] = "x"
	}
	const nodes = `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`
	if got := s.refused(t, "BAD_USER_INPUT", "alice", nodes, "ids", ids); !strings.Contains(got, "holds 101 entries; at most 100 are allowed") {
		t.Errorf("101 ids: got %q, want the limit of 100 entries", got)
	}
	same(t, s.ok(t, "alice", nodes, "ids", ids[:2])["nodes"], `[null, null]`)
}

func TestViewerAndUser(t *testing.T) {
	s := start(t)
	same(t, s.ok(t, "", `{ viewer { userId } }`), `{"viewer":null}`)
	same(t, s.ok(t, "alice", `{ viewer { userId } user(userId: "bob") { userId } }`),
		`{"viewer":{"userId":"alice"},"user":{"userId":"bob"}}`)
	s.refused(t, "BAD_USER_INPUT", "alice", `{ user(userId: "") { userId } }`)
	s.refused(t, "BAD_USER_INPUT", "alice", fmt.Sprintf(`{ user(userId: %q) { userId } }`, strings.Repeat("u", 129)))
}

// Long texts cost more than short ones, so that the maximum cost also bounds the bytes of
// a response.
func TestTextsCountByTheirLength(t *testing.T) {
	s := start(t)
	folders := func(selected string) string {
		return "{ viewer { folders(first: 100) { edges { node {" + selected + "} } } } }"
	}
	for selected, cost := range map[string]int{
		strings.Repeat("description ", 10): 100 * (1 + 10*20), strings.Repeat("name ", 100): 100 * (1 + 100*2),
	} {
		want := fmt.Sprintf("costs %d:", 1+1+100+1+cost)
		if got := s.refused(t, "LIMIT_EXCEEDED", "alice", folders(selected)); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	s.ok(t, "alice", folders(strings.Repeat("public ", 100)))
}
