package postgres

import (
	"testing"
	"time"

	"ovation/storage"
)

// A list of one biz reads a bounded number of index entries, however long the
// history of another biz is that lies before it, and however often one call asks
// for it.
func TestListsOfOneBizReadBoundedRows(t *testing.T) {
	at := database(t)
	edit(t, at,
		`INSERT INTO user_reaction SELECT 'default', 'alice', 'article', i, 1, 0, i FROM generate_series(1, 200000) i`,
		`INSERT INTO user_read SELECT 'default', 'alice', 'article', i, 1, i, i FROM generate_series(1, 200000) i`)
	s := openAt(t, Options{URL: at})
	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	const aliases = 100
	likes, reads := make([]storage.LikesQuery, aliases), make([]storage.ReadsQuery, aliases)
	for i := range aliases {
		likes[i] = storage.LikesQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
		reads[i] = storage.ReadsQuery{User: alice, Biz: "video", Page: storage.Page{First: 21}}
	}
	liked, err := s.Likes(t.Context(), likes)
	if err != nil {
		t.Fatal(err)
	}
	read, err := s.Reads(t.Context(), reads)
	if err != nil {
		t.Fatal(err)
	}
	wantAt := storage.Position{Version: 200_000 - storage.MaxListScan + 1, Biz: "article", ID: "199501"}
	for i := range aliases {
		if len(liked[i].Entries) > 0 || liked[i].Resume != wantAt || len(read[i].Entries) > 0 || read[i].Resume != wantAt {
			t.Fatalf("query %d: %+v and %+v, want nothing but the position %+v", i, liked[i], read[i], wantAt)
		}
	}
	if err := s.Close(); err != nil { // the server counts what a connection has read when that ends
		t.Fatal(err)
	}
	for _, index := range []string{"likes", "reads"} {
		if n := entriesRead(t, at, index); n != aliases*storage.MaxListScan {
			t.Errorf("%d entries of the index %s were read, want %d", n, index, aliases*storage.MaxListScan)
		}
	}
}

// entriesRead returns how many entries of an index scans have returned, as soon
// as the server knows of some.
func entriesRead(t *testing.T, at, index string) (n int64) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n == 0 {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("no scan of the index %s was counted", index)
		}
		n = ask[int64](t, at, `SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes
			WHERE schemaname = current_schema AND indexrelname = $1`, index)
	}
	return n
}
