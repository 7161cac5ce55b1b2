package postgres

import (
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
)

// TestListsOfOneBizReadBoundedRows checks that a query for a list that is limited to one
// biz examines a bounded number of index entries. In the index, many entries of another
// biz precede the entries of the list. Each call contains many queries.
func TestListsOfOneBizReadBoundedRows(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	postgrestest.Exec(t, at,
		`INSERT INTO user_reaction SELECT 'default', 'alice', 'article', i, 1, 0, i FROM generate_series(1, 200000) i`,
		`INSERT INTO user_read SELECT 'default', 'alice', 'article', i, 1, i, i FROM generate_series(1, 200000) i`,
		`INSERT INTO user_follow SELECT 'default', 'alice', 'article', i, 1, 0, i FROM generate_series(1, 200000) i`,
		`INSERT INTO interactive SELECT 'default', 'article', i, 0, 0, 0, 0, 1, 0, 'alice', i FROM generate_series(1, 200000) i`)
	s := openAt(t, Options{URL: at})
	const aliases = 100
	likes, reads := make([]storage.LikesQuery, aliases), make([]storage.ReadsQuery, aliases)
	follows, works := make([]storage.FollowingQuery, aliases), make([]storage.WorksQuery, aliases)
	for i := range aliases {
		likes[i] = storage.LikesQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
		reads[i] = storage.ReadsQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
		works[i] = storage.WorksQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
		follows[i] = storage.FollowingQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
	}
	liked, err := s.Likes(t.Context(), likes)
	must.Succeed(t, err)
	read, err := s.Reads(t.Context(), reads)
	must.Succeed(t, err)
	followed, err := s.Following(t.Context(), follows)
	must.Succeed(t, err)
	written, err := s.Works(t.Context(), works)
	must.Succeed(t, err)
	wantAt := storage.Position{Version: 200_000 - storage.MaxListScan + 1, Biz: "article", ID: "199501"}
	for i := range aliases {
		if len(liked[i].Entries) > 0 || liked[i].Resume != wantAt || len(read[i].Entries) > 0 || read[i].Resume != wantAt ||
			len(followed[i].Entries) > 0 || followed[i].Resume != wantAt || len(written[i].Entries) > 0 || written[i].Resume != wantAt {
			t.Fatalf("query %d: %+v, %+v, %+v and %+v, want nothing but the position %+v", i, liked[i], read[i], followed[i], written[i], wantAt)
		}
	}
	must.Succeed(t, s.Close()) // the server updates its statistics when a connection ends
	for _, index := range []string{"likes", "reads", "following", "works"} {
		if n := entriesRead(t, at, index); n != aliases*storage.MaxListScan {
			t.Errorf("got %d entries read of the index %s, want %d", n, index, aliases*storage.MaxListScan)
		}
	}
}

// TestFriendsReadBoundedRows checks that the first page of friends examines no more rows
// than later pages. The lengths of the two lists are looked up, not counted.
func TestFriendsReadBoundedRows(t *testing.T) {
	at := postgrestest.Schema(t)
	postgrestest.Exec(t, at,
		`INSERT INTO user_follow SELECT 'default', 'alice', 'user', i, 1, 0, i FROM generate_series(1, 20000) i`,
		`INSERT INTO user_follow SELECT 'default', 'fan' || i, 'user', 'alice', 1, 0, i FROM generate_series(1, 10000) i`,
		`INSERT INTO user_totals (tenant, user_id, likes, following, collections, works, likes_received) VALUES ('default', 'alice', 0, 20000, 0, 0, 0)`,
		`INSERT INTO interactive SELECT 'default', 'user', 'alice', 0, 0, 0, 0, 1, 10000, '', 0`)
	s := openAt(t, Options{URL: at})
	got, err := s.Friends(t.Context(), []storage.FriendsQuery{{User: alice, Page: storage.Page{First: 21}}})
	if err != nil || len(got[0].Entries) > 0 || got[0].Resume.Version != 10_000-storage.MaxListScan+1 {
		t.Errorf("got %+v, %v, want no friends and to resume at version %d", got, err, 10_000-storage.MaxListScan+1)
	}
	must.Succeed(t, s.Close()) // the server updates its statistics when a connection ends
	if n := entriesRead(t, at, "followers"); n != storage.MaxListScan {
		t.Errorf("got %d followers read, want %d", n, storage.MaxListScan)
	}
	if n := ask[int64](t, at, `SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes
		WHERE schemaname = current_schema AND indexrelname = 'following'`); n != 0 {
		t.Errorf("got %d follows read, want none", n)
	}
}

// entriesRead returns the number of entries that scans of an index have returned. It
// waits until this number is above 0.
func entriesRead(t *testing.T, at, index string) (n int64) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n == 0 {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the server has counted no scan of the index %s in time", index)
		}
		n = ask[int64](t, at, `SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes
			WHERE schemaname = current_schema AND indexrelname = $1`, index)
	}
	return n
}

// TestFollowedLikersReadBoundedRows checks that a page of the likers whom a user follows
// examines a bounded number of follows, whatever the numbers of follows and of likes are,
// and ends early if it is full.
func TestFollowedLikersReadBoundedRows(t *testing.T) {
	at := postgrestest.Schema(t)
	postgrestest.Exec(t, at,
		`INSERT INTO user_follow SELECT 'default', 'alice', 'user', i, 1, 0, i FROM generate_series(1, 10000) i`,
		`INSERT INTO user_reaction (tenant, user_id, biz, biz_id, state, prev_state, version) SELECT 'default', 'fan' || i, 'video', 'popular', 1, 0, i FROM generate_series(1, 100000) i`,
		`INSERT INTO user_reaction (tenant, user_id, biz, biz_id, state, prev_state, version) SELECT 'default', i, 'video', 'liked', 1, 0, i FROM generate_series(1, 10000) i`,
		`ANALYZE`)
	s := openAt(t, Options{URL: at})
	query := func(id string) storage.FollowedLikersQuery {
		return storage.FollowedLikersQuery{User: alice, Subject: storage.Subject{Tenant: alice.Tenant, Biz: "video", BizID: id}, Page: storage.Page{First: 4}}
	}
	got, err := s.FollowedLikers(t.Context(), []storage.FollowedLikersQuery{query("popular"), query("liked")})
	if err != nil || len(got[0].Entries) != 0 || got[0].Resume.Version != 10_000-storage.MaxListScan+1 || len(got[1].Entries) != 4 {
		t.Errorf("got %+v, %v, want no likers, to resume at version %d, and four likers", got, err, 10_000-storage.MaxListScan+1)
	}
	must.Succeed(t, s.Close()) // the server updates its statistics when a connection ends
	for index, want := range map[string]int64{
		"following":          storage.MaxListScan + 5, // numbering the rows reads one ahead
		"user_reaction_pkey": 4,
	} {
		if n := entriesRead(t, at, index); n != want {
			t.Errorf("got %d entries read of the index %s, want %d", n, index, want)
		}
	}
}
