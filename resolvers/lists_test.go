package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// pages reads all pages of a list, such as "likes(%s)". The parameter of is the field
// that has the list, or "" if Query has it. For each node, pages returns the value at the
// path key, such as "interactive bizId".
func (s *service) pages(t *testing.T, user, of, list, key string, first int) []string {
	t.Helper()
	path, keys := []any{"list"}, strings.Fields(key)
	query := "list: " + fmt.Sprintf(list, "first: $first, after: $after") + " { edges { cursor node { " + strings.Join(keys, " { ") + strings.Repeat(" }", len(keys)) +
		" } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }"
	if of != "" {
		path, query = []any{"of", "list"}, "of: "+of+" { "+query+" }"
	}
	var out []string
	var after any
	for range 100 {
		connection := dig(t, any(s.ok(t, user, "query($first: Int, $after: String) { "+query+" }", "first", first, "after", after)), path...)
		edges := dig(t, connection, "edges").([]any)
		for _, edge := range edges {
			value := dig(t, edge, "node")
			for _, name := range keys {
				value = dig(t, value, name)
			}
			out = append(out, fmt.Sprint(value))
		}
		info := dig(t, connection, "pageInfo").(map[string]any)
		if info["hasPreviousPage"] != (after != nil) {
			t.Errorf("the page after %v: got hasPreviousPage %v, want %t", after, info["hasPreviousPage"], after != nil)
		}
		if len(edges) > 0 && (info["startCursor"] != dig(t, edges, 0, "cursor") || info["endCursor"] != dig(t, edges, len(edges)-1, "cursor")) {
			t.Errorf("got pageInfo %v, want the cursors of the first and the last edge: %v", info, edges)
		}
		if info["hasNextPage"] == false {
			return out
		}
		if len(edges) != first {
			t.Errorf("a page with a next one has %d entries, want %d", len(edges), first)
		}
		after = info["endCursor"]
	}
	t.Fatalf("the list does not end: got the nodes %v", out)
	return nil
}

func TestListsAreNewestFirstAndComplete(t *testing.T) {
	s := start(t)
	const n = 23
	alice := storage.User{UserID: "alice"}
	var actions []storage.Action
	for i := range n {
		subject := storage.Subject{Biz: []string{"article", "video"}[i%2], BizID: fmt.Sprint(i)}
		actions = append(actions,
			storage.Action{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like},
			storage.Action{User: alice, Subject: storage.Subject{Biz: "video", BizID: "disliked"}, Kind: storage.KindReaction, Reaction: storage.Dislike},
			storage.Action{User: alice, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID},
			storage.Action{User: alice, Subject: subject, Kind: storage.KindRead},
			storage.Action{User: storage.User{UserID: fmt.Sprint("user-", i)}, Subject: storage.Subject{Biz: "video", BizID: "hot"}, Kind: storage.KindReaction, Reaction: storage.Like},
			storage.Action{User: storage.User{UserID: fmt.Sprint("hater-", i)}, Subject: storage.Subject{Biz: "video", BizID: "hot"}, Kind: storage.KindReaction, Reaction: storage.Dislike})
	}
	s.act(t, time.Now(), actions...)
	for i := range n {
		_, err := s.store.CreateFolder(t.Context(), storage.Folder{
			Owner: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Name: fmt.Sprint(i), Created: storage.Micros(time.Now().Add(time.Hour)) + int64(i),
		})
		must.Succeed(t, err)
	}

	down := func(prefix string, step int) []string {
		var out []string
		for i := n - 1; i >= 0; i -= step {
			out = append(out, fmt.Sprint(prefix, i))
		}
		return out
	}
	folder := storage.Folder{Owner: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, FolderID: storage.DefaultFolderID}
	for _, list := range []struct {
		name, user, of, list, key string
		want                      []string
	}{
		{"likes", "alice", `viewer`, `likes(%s)`, "interactive bizId", down("", 1)},
		{"likes of one biz", "alice", `viewer`, `likes(biz: "article", %s)`, "interactive bizId", down("", 2)},
		{"likes of somebody else", "bob", `user(userId: "alice")`, `likes(%s)`, "interactive bizId", down("", 1)},
		{"likers", "alice", `interactive(biz: "video", bizId: "hot")`, `likers(%s)`, "user userId", down("user-", 1)},
		{"folders", "alice", `viewer`, `folders(%s)`, "name", append(down("", 1), "Default")},
		{"reads", "alice", `viewer`, `reads(%s)`, "interactive bizId", down("", 1)},
		{"reads of one biz", "alice", `viewer`, `reads(biz: "article", %s)`, "interactive bizId", down("", 2)},
		{"folder items", "alice", fmt.Sprintf(`folder(id: %q)`, folder.ID()), `items(%s)`, "interactive bizId", down("", 1)},
	} {
		for _, first := range []int{1, 5, n, 100} {
			t.Run(fmt.Sprintf("%s by %d", list.name, first), func(t *testing.T) {
				if got := s.pages(t, list.user, list.of, list.list, list.key, first); fmt.Sprint(got) != fmt.Sprint(list.want) {
					t.Errorf("got  %v\nwant %v", got, list.want)
				}
			})
		}
	}
}

func TestPagesAreTwentyUnlessAskedOtherwise(t *testing.T) {
	s := start(t)
	var actions []storage.Action
	for i := range 30 {
		actions = append(actions, storage.Action{
			User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: "video", BizID: fmt.Sprint(i)},
			Kind: storage.KindReaction, Reaction: storage.Like,
		})
	}
	s.act(t, time.Now(), actions...)
	for _, arguments := range []string{"", "(first: null)", "(after: null)"} {
		data := s.ok(t, "alice", `{ viewer { likes`+arguments+` { edges { cursor } pageInfo { hasNextPage } } } }`)
		if got := len(dig(t, data, "viewer", "likes", "edges").([]any)); got != 20 || dig(t, data, "viewer", "likes", "pageInfo", "hasNextPage") != true {
			t.Errorf("likes%s: got %d entries, want 20 and a next page", arguments, got)
		}
	}
	for _, first := range []int{0, -1, 101, 1 << 30} {
		if got := s.refused(t, "BAD_USER_INPUT", "alice", `query($n: Int!) { viewer { likes(first: $n) { edges { cursor } } } }`, "n", first); !strings.Contains(got, "1 to 100") {
			t.Errorf("first: %d: got %q, want the bounds 1 to 100", first, got)
		}
	}
}

func TestCursorsAreValidForTheirListOnly(t *testing.T) {
	s := start(t)
	for _, user := range []string{"alice", "bob"} {
		for _, id := range []string{"1", "2"} {
			s.ok(t, user, `mutation($id: ID!) { like(input: {biz: "video", bizId: $id}) { changed } }`, "id", id)
		}
	}
	const likes = `query($after: String) { viewer { likes(after: $after) { edges { cursor } } } }`
	cursor := dig(t, s.ok(t, "alice", likes), "viewer", "likes", "edges", 0, "cursor").(string)
	if got := len(dig(t, s.ok(t, "alice", likes, "after", cursor), "viewer", "likes", "edges").([]any)); got != 1 {
		t.Errorf("got %d entries after the first, want 1", got)
	}
	flipped := []byte(cursor)
	flipped[len(flipped)/2] ^= 1
	for name, forged := range map[string]string{
		"empty": "", "garbage": "garbage", "flipped bit": string(flipped), "cut": cursor[:len(cursor)-2],
		"longer": cursor + "AAAA", "very long": strings.Repeat("A", 100_000/2), "not base64": "*" + cursor[1:],
	} {
		if got := s.refused(t, "BAD_USER_INPUT", "alice", likes, "after", forged); !strings.Contains(got, "after is not a cursor of this list") {
			t.Errorf("a forged cursor, %s: got %q, want after is not a cursor of this list", name, got)
		}
	}
	for name, query := range map[string]string{
		"of one biz":    `query($after: String) { viewer { likes(biz: "video", after: $after) { edges { cursor } } } }`,
		"of likers":     `query($after: String) { interactive(biz: "video", bizId: "1") { likers(after: $after) { edges { cursor } } } }`,
		"of reads":      `query($after: String) { viewer { reads(after: $after) { edges { cursor } } } }`,
		"of other user": `query($after: String) { user(userId: "bob") { likes(after: $after) { edges { cursor } } } }`,
	} {
		t.Run(name, func(t *testing.T) { s.refused(t, "BAD_USER_INPUT", "alice", query, "after", cursor) })
	}
}

func TestListsRefuseABadBiz(t *testing.T) {
	s := start(t)
	s.refused(t, "BAD_USER_INPUT", "alice", `{ viewer { likes(biz: "Video") { edges { cursor } } } }`)
	s.refused(t, "BAD_USER_INPUT", "alice", `{ viewer { reads(biz: "") { edges { cursor } } } }`)
}
