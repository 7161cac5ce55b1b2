package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ovation/storage"
)

// pages reads all pages of the connection at path and returns what is at key in each node.
// The query takes $first and $after.
func (s *service) pages(t *testing.T, user, query string, first int, path []any, key ...any) []string {
	t.Helper()
	var out []string
	var after any
	for range 100 {
		connection := dig(t, any(s.ok(t, user, query, "first", first, "after", after)), path...)
		edges := dig(t, connection, "edges").([]any)
		for _, edge := range edges {
			out = append(out, fmt.Sprint(dig(t, dig(t, edge, "node"), key...)))
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

const connection = ` { edges { cursor node { %s } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`

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
		must(t, err)
	}

	down := func(prefix string, step int) []string {
		var out []string
		for i := n - 1; i >= 0; i -= step {
			out = append(out, fmt.Sprint(prefix, i))
		}
		return out
	}
	lists := []struct {
		name, query string
		path, key   []any
		want        []string
	}{
		{
			"likes", `{ viewer { likes(first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }"),
			[]any{"viewer", "likes"},
			[]any{"interactive", "bizId"},
			down("", 1),
		},
		{
			"likes of one biz", `{ viewer { likes(biz: "article", first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }"),
			[]any{"viewer", "likes"},
			[]any{"interactive", "bizId"},
			down("", 2),
		},
		{
			"likes of somebody else", `{ viewer: user(userId: "alice") { likes(first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }"),
			[]any{"viewer", "likes"},
			[]any{"interactive", "bizId"},
			down("", 1),
		},
		{
			"likers", `{ interactive(biz: "video", bizId: "hot") { likers(first: $first, after: $after) ` + fmt.Sprintf(connection, "user { userId }"),
			[]any{"interactive", "likers"},
			[]any{"user", "userId"},
			down("user-", 1),
		},
		{
			"folders", `{ viewer { folders(first: $first, after: $after) ` + fmt.Sprintf(connection, "name"),
			[]any{"viewer", "folders"},
			[]any{"name"},
			append(down("", 1), "Default"),
		},
		{
			"reads", `{ viewer { reads(first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }"),
			[]any{"viewer", "reads"},
			[]any{"interactive", "bizId"},
			down("", 1),
		},
		{
			"reads of one biz", `{ viewer { reads(biz: "article", first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }"),
			[]any{"viewer", "reads"},
			[]any{"interactive", "bizId"},
			down("", 2),
		},
		{
			"folder items", `{ viewer { folders(first: 30) { edges { node { items(first: $first, after: $after) ` + fmt.Sprintf(connection, "interactive { bizId }") + `}}}`,
			[]any{"viewer", "folders", "edges", n, "node", "items"},
			[]any{"interactive", "bizId"},
			down("", 1),
		},
	}
	for _, list := range lists {
		for _, first := range []int{1, 5, n, 100} {
			if list.name == "folder items" && first < n {
				continue // cursors of one folder are invalid for the others
			}
			t.Run(fmt.Sprintf("%s by %d", list.name, first), func(t *testing.T) {
				user := "alice"
				if strings.Contains(list.name, "somebody") {
					user = "bob"
				}
				got := s.pages(t, user, `query($first: Int, $after: String) `+list.query+`}}`, first, list.path, list.key...)
				if fmt.Sprint(got) != fmt.Sprint(list.want) {
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
