package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ovation/storage"
)

// A list that is restricted to one biz has empty pages where the history has only entries
// of another biz. A client that continues at the endCursor of each page receives every
// entry once.
func TestShortPagesHaveACursor(t *testing.T) {
	s := start(t)
	var actions []storage.Action
	read := func(biz string, n int) {
		for i := range n {
			actions = append(actions, storage.Action{
				User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: biz, BizID: fmt.Sprint(i)}, Kind: storage.KindRead,
			})
		}
	}
	read("video", 3)
	read("article", 2*storage.MaxListScan+10)
	s.act(t, time.Now(), actions...)

	const query = `query($after: String) { viewer { reads(biz: "video", first: 2, after: $after) {
		edges { cursor node { interactive { bizId } } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	var shapes, ids []string
	var after any
	for range 10 {
		page := dig(t, any(s.ok(t, "alice", query, "after", after)), "viewer", "reads")
		edges, info := dig(t, page, "edges").([]any), dig(t, page, "pageInfo").(map[string]any)
		for i := range edges {
			ids = append(ids, dig(t, edges, i, "node", "interactive", "bizId").(string))
		}
		shapes = append(shapes, fmt.Sprint(len(edges), " next ", info["hasNextPage"], " from ", info["startCursor"] != nil, " to ", info["endCursor"] != nil))
		if info["hasPreviousPage"] != (after != nil) {
			t.Errorf("the page after %v: got hasPreviousPage %v, want %t", after, info["hasPreviousPage"], after != nil)
		}
		if info["hasNextPage"] == false {
			break
		}
		after = info["endCursor"]
	}
	want := []string{
		"0 next true from false to true", "0 next true from false to true",
		"2 next true from true to true", "1 next false from true to true",
	}
	if fmt.Sprint(shapes) != fmt.Sprint(want) || fmt.Sprint(ids) != "[2 1 0]" {
		t.Errorf("pages %q of %v, want %q of [2 1 0]", shapes, ids, want)
	}
}

// The cost of a list restricted to one biz includes the rows that it may examine. A
// request may have only a few lists of this kind, and they are answered.
func TestListsOfOneBizCostTheRowsTheyExamine(t *testing.T) {
	s := start(t)
	aliased := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `a%d: reads(biz: "video", first: 1) { pageInfo { hasNextPage } } `, i)
		}
		return "{ viewer { " + out.String() + "} }"
	}
	const most = 20_000 / (storage.MaxListScan + 3)
	s.ok(t, "alice", aliased(most))
	if got := s.refused(t, "LIMIT_EXCEEDED", "alice", aliased(100)); !strings.Contains(got, "costs 50301") {
		t.Errorf("100 lists of one biz: got %q, want cost 50301", got)
	}
}
