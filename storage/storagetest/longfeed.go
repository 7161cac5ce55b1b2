package storagetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ovation/storage"
)

const (
	feedVideos  = 1_000_000
	feedPage    = 20
	feedFar     = 1000 // the page far down the feed
	feedAuthors = 1000
)

// TimeLongFeed fails if the 1,000th page of a feed of a million videos, or the last page,
// takes more than twice as long as the first page. The pages are read in turn, and the
// medians of their times are compared. The first and the last page of one user's videos
// are compared in the same way. The database must be empty.
func TimeLongFeed(t *testing.T, db Database) {
	t.Helper()
	db.Edit(t, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO video (tenant, video_id, user_id, title, file, format, bytes, covered, cover_tries, cover_reason, cover_due, created)
		SELECT 'default', i, 'user' || (i %% %d), 'A cat plays the piano', 'file' || i, 1, 1000000, TRUE, 0, '', 0, i FROM n`, feedVideos, feedAuthors))
	db.Edit(t, `ANALYZE video`)
	s := db.Open(t)
	feed := func(below int64) func() ([]storage.Video, error) {
		page := storage.Page{First: feedPage, After: storage.Position{Version: below}}
		return func() ([]storage.Video, error) {
			got, err := s.Feed(t.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: page}})
			return got[0].Entries, err
		}
	}
	ofUser := func(below int64) func() ([]storage.Video, error) {
		page := storage.Page{First: feedPage, After: storage.Position{Version: below}}
		return func() ([]storage.Video, error) {
			got, err := s.UserVideos(t.Context(), []storage.UserVideosQuery{{User: user("user7"), Page: page}})
			return got[0].Entries, err
		}
	}
	pages := map[string]func() ([]storage.Video, error){
		"first": feed(0), "1,000th": feed(feedVideos - feedPage*(feedFar-1) + 1), "last": feed(feedPage + 1),
		"first of a user": ofUser(0), "last of a user": ofUser(feedAuthors*feedPage + 1),
	}
	took := map[string][]time.Duration{}
	const warm, rounds = 20, 300
	for round := range warm + rounds {
		for name, read := range pages {
			begun := time.Now()
			got, err := read()
			if err != nil || len(got) != feedPage {
				t.Fatalf("the %s page has %d videos, %v, want %d", name, len(got), err, feedPage)
			}
			if round >= warm {
				took[name] = append(took[name], time.Since(begun))
			}
		}
	}
	median := map[string]time.Duration{}
	for name, all := range took {
		slices.Sort(all)
		median[name] = all[rounds/2]
	}
	t.Logf("pages of a feed of %d videos: %v", feedVideos, median)
	for name, first := range map[string]string{"1,000th": "first", "last": "first", "last of a user": "first of a user"} {
		if median[name] > 2*median[first] {
			t.Errorf("the %s page takes %v, want at most twice the %v of the %s page", name, median[name], median[first], first)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
