package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ovation/storage"
)

// Sizes of the lists that FillLongLists creates. LongEntries is a multiple of longPage,
// so that the entries of a short list are evenly spaced in the table.
const (
	LongEntries = 100_000
	longPage    = 20
	longFar     = 500 // the page far down the long list
)

// FillLongLists fills an empty database. For each kind of list that holds comments or
// follows, it creates a long list with LongEntries entries and a short list with a single
// page. The rows of the short list are as far apart as one user's rows are in a table
// with many users. FillLongLists executes each SQL statement by calling run.
func FillLongLists(run func(sql string)) {
	const rows = LongEntries + longPage
	each := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, rows)
	of := fmt.Sprintf(`CASE WHEN i %% %d = 0 THEN 'short' ELSE 'long' END`, rows/longPage)
	insertFollow := each + `INSERT INTO user_follow (tenant, user_id, biz, biz_id, state, prev_state, version) SELECT 'default', `
	run(each + `INSERT INTO comment (tenant, biz, biz_id, comment_id, reply_to, user_id, text, created, edited, deleted, listed, like_count, reply_count, version)
		SELECT 'default', 'video', ` + of + `, i, 0, 'user' || i, 'What a lovely video.', i, 0, 0, TRUE, i % 17, 0, i FROM n`)
	run(insertFollow + `'user' || i, 'user', ` + of + `, 1, 0, i FROM n`)
	run(insertFollow + of + `, 'user', 'user' || i, 1, 0, i FROM n`)
	run(insertFollow + `'idol', 'user', 'user' || i, 1, 0, i FROM n`)
	run(insertFollow + fmt.Sprintf(`'user' || i, 'user', 'idol', 1, 0, i FROM n WHERE i %% %d = 0`, rows/longPage))
	for name, n := range map[string]struct{ followers, following int }{
		"long": {LongEntries, LongEntries}, "short": {longPage, longPage}, "idol": {longPage, rows},
	} {
		run(fmt.Sprintf(`INSERT INTO comment_count (tenant, biz, biz_id, comments, version) VALUES ('default', 'video', '%s', %d, %d)`, name, n.followers, rows))
		run(fmt.Sprintf(`INSERT INTO interactive (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, version)
			VALUES ('default', 'user', '%s', 0, 0, 0, 0, %d, 1)`, name, n.followers))
		run(fmt.Sprintf(`INSERT INTO user_totals (tenant, user_id, likes, following, collections, works, likes_received)
			VALUES ('default', '%s', 0, %d, 0, 0, 0)`, name, n.following))
	}
}

// LongList is a list in a database that FillLongLists has filled.
type LongList struct {
	Name string
	long string // the owner of the long list

	page func(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error)
}

// LongLists returns all the lists that FillLongLists fills.
func LongLists() []LongList {
	others := []LongList{
		{"changes of comments", "long", func(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error) {
			got, err := s.CommentChanges(ctx, storage.CommentChangesQuery{Subject: video(of), Version: p.After.Version, First: p.First})
			return positions(got, func(c storage.Comment) storage.Position { return storage.Position{Version: c.Version} }), err
		}},
		{"followers", "long", func(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error) {
			got, err := s.Followers(ctx, []storage.FollowersQuery{{Subject: user(of).Subject(), Page: p}})
			return positionsOf(got, err, func(f storage.Followed) storage.Position {
				return storage.Position{Version: f.Version, ID: f.User.UserID}
			})
		}},
		{"following", "long", func(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error) {
			got, err := s.Following(ctx, []storage.FollowingQuery{{User: user(of), Page: p}})
			return positionsOf(got, err, func(f storage.Followed) storage.Position {
				return storage.Position{Version: f.Version, Biz: f.Subject.Biz, ID: f.Subject.BizID}
			})
		}},
		{"friends", "long", pageOfFriends},
		{"friends of somebody who follows many", "idol", pageOfFriends},
	}
	orders := []storage.CommentOrder{storage.Newest, storage.Oldest, storage.Top}
	comments := make([]LongList, 0, len(orders))
	for _, order := range orders {
		comments = append(comments, LongList{"comments " + string(order), "long", func(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error) {
			got, err := s.ListComments(ctx, []storage.CommentsQuery{{Subject: video(of), Order: order, Page: p}})
			return positionsOf(got, err, func(c storage.Comment) storage.Position { return order.Place(&c) })
		}})
	}
	return slices.Concat(others, comments)
}

func pageOfFriends(ctx context.Context, s storage.Store, of string, p storage.Page) ([]storage.Position, error) {
	got, err := s.Friends(ctx, []storage.FriendsQuery{{User: user(of), Page: p}})
	return positionsOf(got, err, func(f storage.Friend) storage.Position { return f.Position })
}

func positionsOf[E any](got []storage.ListPage[E], err error, of func(E) storage.Position) ([]storage.Position, error) {
	if err != nil {
		return nil, err
	}
	return positions(got[0].Entries, of), nil
}

func positions[E any](entries []E, of func(E) storage.Position) []storage.Position {
	out := make([]storage.Position, len(entries))
	for i, e := range entries {
		out[i] = of(e)
	}
	return out
}

// Pages returns functions that read one page each: the only page of the short list and
// the first page of the long list. If the long list has several pages, another function
// reads a page far down the list.
func (l LongList) Pages(t *testing.T, s storage.Store) map[string]func() {
	t.Helper()
	read := func(of string, p storage.Page) []storage.Position {
		got, err := l.page(t.Context(), s, of, p)
		if err != nil || len(got) != p.First {
			t.Fatalf("%s: got %d entries, %v, want a page of %d", l.Name, len(got), err, p.First)
		}
		return got
	}
	pages := map[string]func(){
		"short": func() { read("short", storage.Page{First: longPage}) },
		"first": func() { read(l.long, storage.Page{First: longPage}) },
	}
	if l.long == "long" {
		above := read(l.long, storage.Page{First: longPage * (longFar - 1)})
		far := storage.Page{First: longPage, After: above[len(above)-1]}
		pages["far"] = func() { read(l.long, far) }
	}
	return pages
}

// TimeLongLists fails if a page of a long list takes more than twice as long as a page of
// a short list. It reads the pages in turn, so that other load on the machine affects all
// of them equally, and compares the medians of their times. The database must be empty.
func TimeLongLists(t *testing.T, db Database) {
	t.Helper()
	FillLongLists(func(sql string) { db.Edit(t, sql) })
	s := db.Open(t)
	for _, l := range LongLists() {
		pages, took := l.Pages(t, s), map[string][]time.Duration{}
		const warm, rounds = 20, 300
		for round := range warm + rounds {
			for name, read := range pages {
				begun := time.Now()
				if read(); round >= warm {
					took[name] = append(took[name], time.Since(begun))
				}
			}
		}
		median := map[string]time.Duration{}
		for name, all := range took {
			slices.Sort(all)
			median[name] = all[rounds/2]
		}
		t.Logf("%s: %v", l.Name, median)
		for _, name := range []string{"first", "far"} {
			if median[name] > 2*median["short"] {
				t.Errorf("%s: the %s page takes %v, want at most twice the %v of a short list", l.Name, name, median[name], median["short"])
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
