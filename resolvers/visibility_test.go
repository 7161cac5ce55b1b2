package resolvers_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// TestVisibilityIsAsDocumented compares the table of visibility in docs/api.md with what
// an anonymous viewer, another user and the user herself receive.
func TestVisibilityIsAsDocumented(t *testing.T) {
	s := start(t, withVideos)
	s.declare(t, declarationOf("1", "alice"))
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } follow(input: {biz: "user", bizId: "bob"}) { changed } second: follow(input: {biz: "video", bizId: "1"}) { changed }
		collect(input: {biz: "video", bizId: "1"}) { changed } read(input: {biz: "video", bizId: "1"}) { durability }
		createFolder(input: {name: "Public", public: true}) { folder { id } } addComment(input: {biz: "video", bizId: "1", text: "text"}) { comment { id } }
		sendMessage(input: {to: "bob", text: "hello"}) { message { id } } }`)
	s.ok(t, "bob", `mutation { follow(input: {biz: "user", bizId: "alice"}) { changed } }`)
	folders := s.ok(t, "alice", `{ viewer { folders { edges { node { id public } } } } }`)
	public := dig(t, folders, "viewer", "folders", "edges", 0, "node", "id")
	s.ok(t, "alice", `mutation($f: ID!) { collect(input: {biz: "video", bizId: "2", folderId: $f}) { changed } }`, "f", public)

	author := func(selection string) string { return "author { " + selection + " }" }
	list := func(name string) string { return author(name + " { edges { node { id } } }") }
	rows := map[string]string{ // selections on a subject of alice's, by the name in the table
		"counts of `Interactive`":      `readCount readerCount likeCount dislikeCount collectCount followerCount commentCount`,
		"`Interactive.comments`":       `comments { edges { node { text author { userId } } } }`,
		"`Interactive.author`":         author("userId"),
		"`Interactive.liked`":          `liked { at }`,
		"`Interactive.collected`":      `collected { at }`,
		"`Interactive.read`":           `read { times }`,
		"`Interactive.followed`":       `followed { at }`,
		"`Interactive.likers`":         `likers { edges { cursor } }`,
		"`Interactive.followers`":      `followers { edges { cursor } }`,
		"`Interactive.likedByFriends`": `likedByFriends { edges { node { user { userId } } } }`,
		"`User.totals`":                author("totals { following followers likes comments works likesReceived }"),
		"`UserTotals.collections`":     author("totals { collections }"),
		"`User.comments`":              list("comments"),
		"`User.likes`":                 list("likes"),
		"`User.following`":             list("following"),
		"`User.followers`":             list("followers"),
		"`User.works`":                 list("works"),
		"`User.videos`":                list("videos"),
		"`User.folders`":               list("folders"),
		"`User.friends`":               author("friends { edges { node { user { userId } } } }"),
		"`Friend.latestMessage`":       author("friends { edges { node { latestMessage { text } } } }"),
		"`User.reads`":                 list("reads"),
	}
	documented := visibilityTable(t)
	if got, want := slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
		t.Fatalf("docs/api.md documents %v, want %v", got, want)
	}
	for name, selection := range rows {
		for i, viewer := range []string{"", "carol", "alice"} {
			reply := s.ask(t, viewer, `{ interactive(biz: "video", bizId: "1") { `+selection+` } }`)
			got := "yes"
			switch {
			case len(reply.Errors) > 0:
				got = fmt.Sprint(reply.Errors[0].Extensions["code"])
			case name == "`UserTotals.collections`" || name == "`User.folders`":
				n := dig(t, reply.Data, "interactive", "author")
				switch text := toJSON(t, n); {
				case strings.Contains(text, `"collections":2`), strings.Count(text, `"node"`) == 2:
					got = "all folders"
				case strings.Contains(text, `"collections":1`), strings.Count(text, `"node"`) == 1:
					got = "public folders"
				default:
					got = text
				}
			case strings.Contains(toJSON(t, reply.Data), ":null"):
				got = "null"
			}
			if got != documented[name][i] {
				t.Errorf("%s for the viewer %q: got %s, %v, want %s as documented", name, viewer, got, reply.Data, documented[name][i])
			}
		}
	}
}

// visibilityTable returns the rows of the table in docs/api.md by their first cells.
func visibilityTable(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/api.md")
	must.Succeed(t, err)
	_, after, found := strings.Cut(string(text), "| field | anonymous | signed in | the user |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("docs/api.md has no table of visibility")
	}
	table, _, _ := strings.Cut(after, "\n\n")
	rows := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := regexp.MustCompile(`\s*\|\s*`).Split(strings.Trim(strings.TrimSpace(row), "| "), -1)
		for name := range strings.SplitSeq(cells[0], ", ") {
			rows[name] = cells[1:]
		}
	}
	return rows
}
