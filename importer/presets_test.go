package importer

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// importPreset imports a file with a preset.
func importPreset(t *testing.T, to storage.Store, preset, path string) (Result, error) {
	t.Helper()
	m, err := LoadMapping(preset)
	must.Succeed(t, err)
	if len(m.Open()) > 0 {
		m.UserID, m.At = "alice", "2026-01-31"
	}
	if len(m.Counts) == 0 {
		return importFile(t, to, Options{Mapping: m}, path)
	}
	src, err := Open(t.Context(), path, nil, "")
	must.Succeed(t, err)
	defer func() { must.Succeed(t, src.Close()) }()
	return ImportCounts(t.Context(), to, src, Options{Mapping: m})
}

// countsIn returns reads, likes and collections of subjects, each given as biz/bizId.
func countsIn(t *testing.T, store storage.Store, names ...string) string {
	t.Helper()
	subjects := make([]storage.Subject, len(names))
	for i, name := range names {
		biz, id, _ := strings.Cut(name, "/")
		subjects[i] = storage.Subject{Tenant: "default", Biz: biz, BizID: id}
	}
	found, err := store.Interactives(t.Context(), storage.User{Tenant: "default"}, subjects, 0)
	must.Succeed(t, err)
	var out []string
	for _, i := range found {
		out = append(out, fmt.Sprint(i.ReadCount, i.LikeCount, i.CollectCount))
	}
	return strings.Join(out, ", ")
}

// verifyNone checks that a recount finds no difference.
func verifyNone(t *testing.T, store storage.Store) {
	t.Helper()
	_, err := store.Verify(t.Context(), false, func(d storage.Difference) error { return fmt.Errorf("%+v", d) })
	must.Succeed(t, err)
}

// TestPresets imports a sample of each table twice, checks the counts of subjects, and
// that the second import changes nothing.
func TestPresets(t *testing.T) {
	for _, c := range []struct {
		preset, file string
		imported     string
		bad          []string // the bad rows
		subjects     []string
		counts       string // reads, likes and collections of each subject
	}{
		{
			"user_like_biz", "user_like_biz.csv", "[{like 5} {clear 2}]",
			[]string{
				`line 10: column "status", "2": is mapped to no action`,
				`line 11: column "uid": userId must not be empty: anonymous visitors only read`,
				`line 12: column "utime": time "\\N" is neither a number`,
			},
			[]string{"article/1", "article/2", "video/2"},
			"0 2 0, 0 1 0, 0 1 0",
		},
		{"user_collection_biz", "user_collection_biz.tsv", "[{collect 3}]", nil, []string{"article/1", "article/2"}, "0 0 2, 0 0 1"},
		{"user_like", "user_like.csv", "[{like 3} {clear 2}]", nil, []string{"video/v1", "video/v2"}, "0 2 0, 0 1 0"},
		{"hasura", "hasura.csv", "[{like 3} {clear 1}]", nil, []string{"post/p1", "post/p2"}, "0 2 0, 0 0 0"},
		{
			"hasura", "hasura.json", "[{like 2}]",
			[]string{`line 1, item 3: column "user_id": userId must not be empty`},
			[]string{"post/7"},
			"0 2 0",
		},
		{
			"postgraphile", "postgraphile.json", "[{like 2}]",
			[]string{`line 10, item 3: member "userId" is 2.5: it must be`},
			[]string{"post/9007199254740993", "post/10"},
			"0 2 0, 0 0 0",
		},
		{
			"getstream", "getstream.jsonl", "[{like 3} {collect 2} {comment 1}]",
			[]string{
				`line 15: column "created_at": time "" is neither a number`,
				`line 17: is neither an item of an export, {"type": …, "data": {…}}, nor a reaction with a kind`,
			},
			[]string{"activity/a1", "activity/c1"},
			"0 2 2, 0 0 0",
		},
		{"getstream", "getstream-v2.ndjson", "[{like 1} {comment 1}]", nil, []string{"activity/a1"}, "0 1 0"},
		{
			"mastodon_likes", "mastodon_likes.json", "[{like 4}]",
			[]string{`line 1, item 3: column "uri", "https://social.example/users/bob/statuses/xxxxxxxxxxxxxxxxxxxxxx"…: bizId is 172 bytes long; at most 128`},
			[]string{"status/https://social.example/users/bob/statuses/111222333444555666"},
			"0 1 0",
		},
		{
			"mastodon_bookmarks", "mastodon_bookmarks.csv", "[{collect 3}]", nil,
			[]string{"status/https://social.example/users/carol/statuses/2?a=1,2"},
			"0 0 1",
		},
		{"mastodon_bookmarks", "mastodon_bookmarks.json", "[]", nil, nil, ""},
		{"work_likes", "work_likes.csv", "[{like 4}]", nil, []string{"work/w1", "work/w2"}, "0 2 0, 0 1 0"},
	} {
		t.Run(c.preset, func(t *testing.T) {
			store := openStore(t)
			for run, imported := range []string{c.imported, "[]"} {
				got, err := importPreset(t, store, c.preset, filepath.Join("testdata", c.file))
				must.Succeed(t, err)
				if fmt.Sprint(got.Imported) != imported || int(got.Bad) != len(c.bad) {
					t.Fatalf("run %d: got %+v, want imported %s, %d bad rows", run, got, imported, len(c.bad))
				}
				for i, want := range c.bad {
					if text := got.BadRows[i].Error(); !strings.HasPrefix(text, want) {
						t.Errorf("run %d: bad row %d is %q, want %q", run, i, text, want)
					}
				}
				if counts := countsIn(t, store, c.subjects...); counts != c.counts {
					t.Errorf("run %d: %v have the counts %s, want %s", run, c.subjects, counts, c.counts)
				}
			}
			verifyNone(t, store)
		})
	}
}

// TestCountsOfTables imports the states of the classic tables and compares their counts:
// missing reads are added once, and other counts that differ are reported.
func TestCountsOfTables(t *testing.T) {
	store := openStore(t)
	for preset, file := range map[string]string{"user_like_biz": "user_like_biz.csv", "user_collection_biz": "user_collection_biz.tsv", "user_like": "user_like.csv"} {
		_, err := importPreset(t, store, preset, filepath.Join("testdata", file))
		must.Succeed(t, err)
	}
	// A read that the table does not count yet.
	_, err := store.Persist(t.Context(), []storage.Message{{ID: "read", Actions: []storage.Action{{
		User: storage.User{Tenant: "default", UserID: "alice"}, Subject: storage.Subject{Tenant: "default", Biz: "video", BizID: "9"},
		Kind: storage.KindRead, Times: 4, First: 1, Version: 1,
	}}}}, nil)
	must.Succeed(t, err)

	for run, added := range []int64{127, 0} {
		got, err := importPreset(t, store, "interactive", filepath.Join("testdata", "interactive.csv"))
		must.Succeed(t, err)
		want := []Compared{
			{Count: "read", Equal: 3, Higher: 1, Table: 127, Store: 131, Added: added},
			{Count: "like", Equal: 3, Lower: 1, Table: 6, Store: 4},
			{Count: "collect", Equal: 4, Table: 3, Store: 3},
		}
		if fmt.Sprint(got.Compared) != fmt.Sprint(want) {
			t.Errorf("run %d: compared %+v, want %+v", run, got.Compared, want)
		}
		if want := []Difference{{4, 0, "video", "2", "like", 3, 1}}; fmt.Sprint(got.Differences) != fmt.Sprint(want) {
			t.Errorf("run %d: differences %+v, want %+v", run, got.Differences, want)
		}
		if counts := countsIn(t, store, "article/1", "article/2", "video/2", "video/9"); counts != "120 2 2, 7 1 1, 0 1 0, 4 0 0" {
			t.Errorf("run %d: counts are %s", run, counts)
		}
	}
	// A later table adds what it has more. Two rows of one subject do not add up.
	later := "biz,biz_id,read_cnt,like_cnt,collect_cnt,utime\narticle,1,130,2,2,1700000600000\narticle,1,125,2,2,1700000600000\narticle,1,131,2,2,1700000600000\n"
	got, err := importPreset(t, store, "interactive", writeFile(t, "later.csv", later))
	must.Succeed(t, err)
	if counts := countsIn(t, store, "article/1"); got.Compared[0].Added != 11 || counts != "131 2 2" {
		t.Errorf("after a later table: added %d, counts %s, want 11 and 131 reads", got.Compared[0].Added, counts)
	}

	got, err = importPreset(t, store, "user_like_stat", filepath.Join("testdata", "user_like_stat.csv"))
	must.Succeed(t, err)
	if want := []Compared{{Count: "like", Equal: 2, Table: 3, Store: 3}}; fmt.Sprint(got.Compared) != fmt.Sprint(want) {
		t.Errorf("user_like_stat: compared %+v, want %+v", got.Compared, want)
	}
	verifyNone(t, store)
}

func TestBadRowsOfCounts(t *testing.T) {
	const header = "biz,biz_id,read_cnt,like_cnt,collect_cnt,utime\n"
	for row, reason := range map[string]string{
		"article,1,-1,0,0,1700000600000":               `column "read_cnt", "-1": is not a count from 0 to 9007199254740991`,
		"article,1,1,1.5,0,1700000600000":              `column "like_cnt", "1.5": is not a count`,
		"article,1,1,1,many,1700000600000":             `column "collect_cnt", "many": is not a count`,
		"article,1,9007199254740992,0,0,1700000600000": `column "read_cnt", "9007199254740992": is not a count`,
		"article,\\N,1,0,0,1700000600000":              `column "biz_id", "\\N": stands for a missing value`,
		"Article,1,1,0,0,1700000600000":                `column "biz", "Article": biz must be`,
		"article,1,1,0,0,soon":                         `column "utime": time "soon" is neither`,
		"article,1,1,0,0":                              "has 5 fields where the header has 6",
	} {
		store := openStore(t)
		got, err := importPreset(t, store, "interactive", writeFile(t, "counts.csv", header+row+"\narticle,2,1,0,0,1700000600000\n"))
		must.Succeed(t, err)
		if got.Bad != 1 || got.BadRows[0].Line != 2 || !strings.HasPrefix(got.BadRows[0].Reason, reason) {
			t.Errorf("%s: got %v, want line 2: %s", row, got.BadRows, reason)
		}
		if counts := countsIn(t, store, "article/1", "article/2"); counts != "0 0 0, 1 0 0" {
			t.Errorf("%s: counts are %s, want those of the other row", row, counts)
		}
	}
}

func TestDeletedRows(t *testing.T) {
	m := testMapping()
	m.Deleted = "deleted"
	store := openStore(t)
	got, err := importText(t, store, Options{Mapping: m}, "user,subject,event,time,deleted\n"+
		"ann,1,like,1500000000,0\n"+
		"ann,1,like,1500000000,1500000100\n"+ // undone at 1500000100
		"bob,1,collect,1500000000,t\n"+
		"cid,1,follow,1500000000,TRUE\n"+
		"cid,1,read,1500000000,1\n"+
		"cid,1,comment,1500000000,1\n"+
		"dan,1,like,1500000000,maybe\n"+
		"dan,1,like,1500000000,0000-00-00 00:00:00\n")
	must.Succeed(t, err)
	if want := "[{like 2} {clear 1} {uncollect 1} {unfollow 1}]"; fmt.Sprint(got.Imported) != want {
		t.Errorf("imported %v, want %s", got.Imported, want)
	}
	if want := "[{comment deleted 1} {read deleted 1}]"; fmt.Sprint(got.Skipped) != want {
		t.Errorf("skipped %v, want %s", got.Skipped, want)
	}
	if got.Bad != 1 || got.BadRows[0].Error() != `line 8: column "deleted", "maybe": is neither a time nor one of 0, 1, f, t, false, true` {
		t.Errorf("bad rows are %v, want line 8", got.BadRows)
	}
	if counts := countsIn(t, store, "video/1"); counts != "0 1 0" {
		t.Errorf("counts are %s, want one like", counts)
	}
}

func TestMappingOfATable(t *testing.T) {
	for text, want := range map[string]string{
		`{"biz": "video", "counts": {"like": "likes"}}`:                         "",
		`{"biz": "video", "counts": {"read": "views"}}`:                         "time must name a column, for the time of the reads",
		`{"biz": "video", "counts": {"read": "views"}, "at": "2026-01-31"}`:     "",
		`{"biz": "video", "counts": {"likes": "likes"}}`:                        `counts has the member "likes", which is not one of read, like, dislike, collect, follow`,
		`{"biz": "video", "counts": {"like": ""}}`:                              `counts must name a column for "like"`,
		`{"biz": "video", "counts": {"like": "likes"}, "user": "uid"}`:          "a table of counts has no columns of users",
		`{"biz": "video", "unmapped": "drop"}`:                                  `unmapped is "drop", which is not one of skip, bad`,
		`{"biz": "video", "optional": "deleted_at"}`:                            "columns and optional arrays of strings",
		`{"biz": "video", "timeUnit": "auto", "timeZone": "Asia/Shanghai"}`:     "",
		`{"biz": "video", "timeUnit": "auto", "timeZone": "Shanghai"}`:          `"Shanghai" is not a time zone`,
		`{"biz": "video", "deleted": "deleted_at", "optional": ["deleted_at"]}`: "",
	} {
		m, err := LoadMapping(writeFile(t, "map.json", text))
		if err == nil {
			err = m.Validate()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTimesOfAnyForm(t *testing.T) {
	m := DefaultMapping()
	m.TimeUnit, m.TimeZone = auto, "Asia/Shanghai"
	times, err := newTimeReader(&m)
	must.Succeed(t, err)
	const want = 1769860800500000
	for _, s := range []string{
		"1769860800.5", "1769860800500", "1769860800500000", "1.7698608005e9",
		"2026-01-31T12:00:00.5Z", "2026-01-31T20:00:00.5+08:00", "2026-01-31 12:00:00.5+00", "2026-01-31 12:00:00.5 UTC",
		"2026-01-31 12:00:00.500000 +0000", "2026-01-31T20:00:00.5", "2026-01-31 20:00:00.5",
	} {
		if at, err := times.read(s, 1, true); err != nil || at != want {
			t.Errorf("%s is %d (%v), want %d", s, at, err, int64(want))
		}
	}
	for _, s := range []string{"", "0", "-1769860800", "20260131120000", "99999999999999999999999", "2026-02-30 12:00:00", "1969-01-31 12:00:00", "31.01.2026", "soon"} {
		if at, err := times.read(s, 1, true); err == nil {
			t.Errorf("%q is read as %d, want an error", s, at)
		}
	}
}

func TestDumpsAreRefused(t *testing.T) {
	for _, text := range []string{
		"-- MySQL dump 10.13  Distrib 8.0.36\n", "--\n-- PostgreSQL database dump\n--\n", "/*!40101 SET NAMES utf8 */;\n",
		"insert into user_like_biz values (1,2,3);\n", "\ufeffDROP TABLE IF EXISTS `user_like_biz`;\n",
	} {
		path := writeFile(t, "dump.sql", text)
		if _, err := Open(t.Context(), path, nil, ""); err == nil || !strings.Contains(err.Error(), "the file is an SQL dump: export the table as CSV instead") {
			t.Errorf("%q: got %v, want advice to export CSV", text, err)
		}
	}
}

// TestEveryPresetHasASample keeps the samples complete.
func TestEveryPresetHasASample(t *testing.T) {
	for _, name := range Presets() {
		if name == "deskdrop" { // its test imports the published file
			continue
		}
		found, err := filepath.Glob(filepath.Join("testdata", name+".*"))
		must.Succeed(t, err)
		if len(found) == 0 {
			t.Errorf("there is no sample of %s in testdata", name)
		}
	}
}
