package resolvers_test

import (
	"fmt"
	"testing"
)

// TestIDsKeepEveryCodePoint uses ids of several scripts, and of emoji, as the ids of a
// viewer, a subject and a node.
func TestIDsKeepEveryCodePoint(t *testing.T) {
	s := start(t)
	for _, id := range []string{
		"a\u200cb", "می\u200cخواهم", "क्\u200dष", "\U0001f469\u200d\U0001f467", "\u2764\ufe0f",
		"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "a\u200f", "\u2068ש\u2069", "\u6771\u3000\u4eac",
	} {
		s.ok(t, id, `mutation($id: ID!) { like(input: {biz: "video", bizId: $id}) { changed } }`, "id", id)
		data := s.ok(t, id, fmt.Sprintf(`{ interactive(biz: "video", bizId: "%s") { id bizId likeCount liked { user { userId } } } }`, id))
		shown := dig(t, data, "interactive").(map[string]any)
		node := shown["id"]
		delete(shown, "id")
		same(t, shown, fmt.Sprintf(`{"bizId":"%[1]s","likeCount":1,"liked":{"user":{"userId":"%[1]s"}}}`, id))
		data = s.ok(t, "", `query($id: ID!) { node(id: $id) { ... on Interactive { bizId } } }`, "id", node)
		if got := dig(t, data, "node", "bizId"); got != id {
			t.Errorf("the node of %+q has the bizId %+q, want the same", id, got)
		}
	}
	// An id that differs in an invisible code point is another id.
	data := s.ok(t, "", `{ interactive(biz: "video", bizId: "ab") { likeCount } }`)
	same(t, data, `{"interactive":{"likeCount":0}}`)
}
