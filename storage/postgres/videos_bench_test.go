package postgres

import (
	"testing"

	"ovation/internal/testing/postgrestest"
	"ovation/storage"
)

// BenchmarkFeed reads the first, the 1,000th and the last page of a feed of one million
// videos, and a page of a user's videos. The four pages should cost the same.
func BenchmarkFeed(b *testing.B) {
	const many, page, far = 1_000_000, 20, 1000
	at := postgrestest.Schema(b)
	postgrestest.Exec(b, at,
		`INSERT INTO video SELECT 'default', i, i % 1000, 'A film of a cat that plays the piano', 'file' || i, 1, 1000000, TRUE, 0, '', 0, i FROM generate_series(1, 1000000) i`,
		`ANALYZE video`)
	s := openAt(b, Options{URL: at})
	user := storage.User{Tenant: storage.DefaultTenant, UserID: "7"}
	for name, read := range map[string]func(storage.Page) (int, error){
		"first":    feedOf(b, s, storage.Position{}),
		"1,000th":  feedOf(b, s, storage.Position{Version: many - page*(far-1)}),
		"the last": feedOf(b, s, storage.Position{Version: page + 1}),
		"of a user": func(p storage.Page) (int, error) {
			got, err := s.UserVideos(b.Context(), []storage.UserVideosQuery{{User: user, Page: p}})
			return len(got[0].Entries), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := read(storage.Page{First: page}); err != nil || n != page {
					b.Fatalf("got %d videos, %v, want %d", n, err, page)
				}
			}
		})
	}
}

func feedOf(b *testing.B, s *Store, after storage.Position) func(storage.Page) (int, error) {
	b.Helper()
	return func(p storage.Page) (int, error) {
		p.After = after
		got, err := s.Feed(b.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: p}})
		return len(got[0].Entries), err
	}
}
