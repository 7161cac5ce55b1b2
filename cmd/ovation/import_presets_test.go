package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ovation/importer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// sample returns the path of a synthetic export.
func sample(name string) string { return filepath.Join("..", "..", "importer", "testdata", name) }

// TestExportsOfOthersAreImported imports a sample of each built-in mapping as its document
// says: a dry run first, then the import, twice.
func TestExportsOfOthersAreImported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flags string
		exit        int
		shows       string // in the first rows of the dry run
		says        []string
		counts      [5]int64 // reads, likes, dislikes, collections and followers
	}{
		{
			"user_like_biz.csv", "--map user_like_biz", exitBadRows, `2 like "1" article "1" 2023-11-14T22:13:20Z`,
			[]string{"5 × like", "2 × clear", `line 10: column "status", "2": is mapped to no action`},
			[5]int64{0, 4, 0, 0, 0},
		},
		{
			"user_like_biz.csv", "--map user_like_biz --events 1=like,0=dislike,2=skip", exitBadRows, `3 dislike "2" article "1"`,
			[]string{"5 × like", "2 × dislike", `skipped       1 × "2": mapped to skip`},
			[5]int64{0, 4, 1, 0, 0},
		},
		{ // as mysqldump --tab writes it
			"user_like_biz.txt", "--map user_like_biz --columns id,uid,biz,biz_id,status,ctime,utime", exitBadRows, `2 clear "2" article "1"`,
			[]string{"1 × like", "1 × clear", `line 3: column "uid": userId must not be empty`},
			[5]int64{0, 1, 0, 0, 0},
		},
		{"user_collection_biz.tsv", "--map user_collection_biz", 0, `3 collect "2" article "1" 2023-11-14T22:13:20Z "7"`, []string{"3 × collect"}, [5]int64{0, 0, 0, 3, 0}},
		{
			"user_collection_biz.tsv", "--map user_collection_biz --folder-names " + sample("collection.tsv"), 0, `3 collect "2" article "1" 2023-11-14T22:13:20Z "Watch later"`,
			[]string{"3 × collect"},
			[5]int64{0, 0, 0, 3, 0},
		},
		{"user_like.csv", "--map user_like --time-zone Asia/Shanghai", 0, `2 like "alice" video "v1" 2026-01-31T04:00:00Z`, []string{"3 × like", "2 × clear"}, [5]int64{0, 3, 0, 0, 0}},
		{"work_likes.csv", "--map work_likes --biz clip", 0, `2 like "alice" clip "w1" 2026-01-31T12:00:00.123456Z`, []string{"4 × like"}, [5]int64{0, 3, 0, 0, 0}},
		{
			"hasura.json", "--map hasura", exitBadRows, `1 like "alice" post "7" 2026-01-31T12:00:00.123456Z`,
			[]string{"2 × like", `skipped       2 × "data.bookmarks": another list`, `line 1, item 3: column "user_id"`},
			[5]int64{0, 2, 0, 0, 0},
		},
		{
			"hasura.json", "--map hasura --rows data.bookmarks --all collect --at 2026-01-31", 0, `item action user biz subject time 1 collect "alice" post "7"`,
			[]string{"2 × collect"},
			[5]int64{0, 0, 0, 2, 0},
		},
		{
			"like_record.tsv", "--map user_like --biz-column biz_id --subject obj_id --event like_type --events 0=like,1=dislike --time update_time", exitBadRows,
			`2 like "7" article "42" 2026-01-31T12:00:00Z`,
			[]string{"1 × like", "1 × dislike", `line 4: column "update_time": time "NULL" is neither`},
			[5]int64{0, 1, 1, 0, 0},
		},
		{"hasura.csv", "--map hasura", 0, `3 like "bob" post "p1" 2026-01-31T12:00:00Z`, []string{"3 × like", "1 × clear"}, [5]int64{0, 2, 0, 0, 0}},
		{"postgraphile.json", "--map postgraphile --biz article", exitBadRows, `1 like "1" article "9007199254740993"`, []string{"2 × like", "line 10, item 3: "}, [5]int64{0, 2, 0, 0, 0}},
		{
			"getstream.jsonl", "--map getstream --events clap=like --folder folder_id", exitBadRows, `4 like "bob" activity "a1" 2026-01-31T12:00:00.123456Z`,
			[]string{"4 × like", "2 × collect", "1 × comment", `1 × "reply"`, `1 × "like of a comment"`, `1 × "deleted comment"`},
			[5]int64{0, 2, 0, 2, 0},
		},
		{
			"interactive.csv", "--map interactive", exitBadRows, `2 article "1" read 120, like 2, collect 2`,
			[]string{"4 rows equal, 0 lower, 0 higher in the database; 127 reads added", `line 2: article "1": like is 2 in the table, 0 in the database`, "5 counts of the table differ"},
			[5]int64{127, 0, 0, 0, 0},
		},
		{
			"mastodon_likes.json", "--map mastodon_likes --user-id alice --at 2026-01-31", exitBadRows, `1 like "alice" status "https://social.example/users/bob/statuses/111222333444555666" 2026-01-31T00:00:00Z`,
			[]string{"4 × like", `line 1, item 3: column "uri", "https://social.example/`, "bizId is 172 bytes long"},
			[5]int64{0, 3, 0, 0, 0},
		},
		{
			"mastodon_bookmarks.csv", "--map mastodon_bookmarks --biz post --user-id alice --at 2026-01-31", 0, `2 collect "alice" post "https://social.example/users/carol/statuses/2?a=1,2" 2026-01-31T00:00:00.000001Z`,
			[]string{"3 × collect"},
			[5]int64{0, 0, 0, 2, 0},
		},
		{
			"hasura.json", "--rows likes --map hasura", exitFailed, "",
			[]string{`the JSON document has no list "likes"; nothing was imported; try --rows PATH`},
			[5]int64{},
		},
		{
			"user_like_stat.csv", "--counts read=like_count --at 2026-01-31 --biz video --subject biz_id", 0, `2 video "v1" read 2`,
			[]string{"3 reads added"},
			[5]int64{3, 0, 0, 0, 0},
		},
	} {
		t.Run(c.name+" "+c.flags, func(t *testing.T) {
			t.Parallel()
			data := emptyData(t)
			args := append([]string{"import", "--data=" + data}, strings.Fields(c.flags)...)
			args = append(args, sample(c.name))
			dry := call(t, environment(), append(args, "--dry-run")...)
			if c.exit == exitFailed {
				dry.want(t, c.exit, c.says...)
				call(t, environment(), args...).want(t, c.exit, c.says...)
				return
			}
			if rows := strings.Join(strings.Fields(dry.stdout), " "); !strings.Contains(rows, c.shows) || !strings.Contains(rows, "dry run: nothing was imported") {
				t.Errorf("the dry run does not show %q:\n%s%s", c.shows, dry.stdout, dry.stderr)
			}
			if got := sumsIfAny(t, data); got != [5]int64{} {
				t.Errorf("after a dry run there are %v reads, likes, dislikes, collects and followers, want none", got)
			}
			call(t, environment(), args...).want(t, c.exit, c.says...)
			for range 2 {
				if got := sums(t, data, "TRUE"); got != c.counts {
					t.Errorf("there are %v reads, likes, dislikes, collects and followers, want %v", got, c.counts)
				}
				verified(t, data)
				call(t, environment(), args...) // changes nothing
			}
		})
	}
}

// TestTablesAreImportedBesideRunningNodes imports the tables of the classic design into the
// database of a node that has their subjects in its caches.
func TestTablesAreImportedBesideRunningNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.start(t, "serve")
	type counts struct {
		ReadCount, LikeCount, CollectCount int64
		Freshness                          string
	}
	shown := func() counts {
		var reply struct{ Interactive counts }
		must.Succeed(t, node.graphQL("alice", `{ interactive(biz: "article", bizId: "1") { readCount likeCount collectCount freshness } }`, &reply))
		return reply.Interactive
	}
	if got, want := shown(), (counts{Freshness: "LIVE"}); got != want {
		t.Fatalf("the node shows %+v before the import, want %+v", got, want)
	}
	call(t, s.getenv("OVATION_REDIS_URL", ""), "import", "--map=interactive", sample("interactive.csv")).want(t, exitUsage, "set OVATION_REDIS_URL")
	s.run(t, "import", "--map=user_like_biz", sample("user_like_biz.csv")).want(t, exitBadRows, "5 × like", "bad           3")
	s.run(t, "import", "--map=user_collection_biz", "--folder-names="+sample("collection.tsv"), sample("user_collection_biz.tsv")).want(t, 0, "3 × collect")
	for _, added := range []string{"127 reads added", "; 0 reads added"} {
		s.run(t, "import", "--map=interactive", sample("interactive.csv")).want(t, exitBadRows, added, "collect       3 in the table, 3 in the database", `line 4: video "2": like is 3 in the table, 1 in the database`)
	}
	await.That(t, "the node shows what was imported", func() bool { return shown() == counts{120, 2, 2, "LIVE"} })
	for user, want := range map[string]string{"1": "Default", "2": "Watch later"} {
		var reply struct {
			Interactive struct {
				Collected struct{ Folder struct{ Name string } }
			}
		}
		must.Succeed(t, node.graphQL(user, `{ interactive(biz: "article", bizId: "1") { collected { folder { name } } } }`, &reply))
		if got := reply.Interactive.Collected.Folder.Name; got != want {
			t.Errorf("the item of user %s is in the folder %q, want %q", user, got, want)
		}
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "0 differences in Redis; ")
}

// TestFolderNamesThatDoNotFitAreRefused checks the errors about --folder-names.
func TestFolderNamesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	table := sample("user_collection_biz.tsv")
	for want, flags := range map[string][]string{
		"needs the column of the folder: --folder": {"--map=user_like", "--folder-names=" + sample("collection.tsv")},
		"must name a file":                         {"--map=user_collection_biz", "--folder-names=-"},
		`has no column "name"; it has "id", "cid"`: {"--map=user_collection_biz", "--folder-names=" + table},
		"nothing.csv: no such file or directory":   {"--map=user_collection_biz", "--folder-names=nothing.csv"},
		"excludes --subjects, --user":              {"--map=interactive", "--folder=cid"},
	} {
		call(t, environment(), append(append([]string{"import", "--data=" + emptyData(t)}, flags...), table)...).want(t, exitUsage, want)
	}
}

// TestHelpNamesEveryMapping checks that the help of --map lists the built-in mappings, and
// that the document names each.
func TestHelpNamesEveryMapping(t *testing.T) {
	help := strings.Join(strings.Fields(call(t, environment(), "import", "--help").stdout), " ")
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "import-from.md"))
	must.Succeed(t, err)
	for _, name := range importer.Presets() {
		if name != "deskdrop" && !strings.Contains(string(text), "`"+name+"`") { // import.md describes deskdrop
			t.Errorf("docs/import-from.md does not name the mapping %s", name)
		}
	}
	if list := "a name (" + strings.Join(importer.Presets(), ", ") + ")"; !strings.Contains(help, list) {
		t.Errorf("the help of import does not say %q:\n%s", list, help)
	}
}
