package enforce_test

import (
	"context"
	"testing"

	"ovation/api/viewer"
	"ovation/storage"
)

// oneTrend is a database in which every list of trends has one entry.
type oneTrend struct{ storage.Store }

func (oneTrend) Trending(_ context.Context, queries []storage.TrendingQuery) ([]storage.ListPage[storage.Trend], error) {
	pages := make([]storage.ListPage[storage.Trend], len(queries))
	for i := range pages {
		pages[i].Entries = []storage.Trend{{Score: 1}}
	}
	return pages, nil
}

// TestTrendsAreHiddenWithTheCounts checks that lists of trends are empty if the counts are
// not public, or if the window is off.
func TestTrendsAreHiddenWithTheCounts(t *testing.T) {
	store := enforcer(t, "biz: {photo: {counts: author}, story: {trending: {windows: [DAY]}}, article: {}}").Store(oneTrend{})
	me := storage.User{Tenant: "default", UserID: "alice"}
	var queries []storage.TrendingQuery
	for _, biz := range []string{"photo", "story", "article"} {
		for _, window := range storage.TrendWindows {
			queries = append(queries, storage.TrendingQuery{Tenant: "default", Biz: biz, Window: window})
		}
	}
	pages, err := store.Trending(viewer.NewContext(t.Context(), me), queries)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		want := q.Biz == "article" || q.Biz == "story" && q.Window == storage.TrendDay
		if got := len(pages[i].Entries) == 1; got != want {
			t.Errorf("%s in window %d: shown is %t, want %t", q.Biz, q.Window, got, want)
		}
	}
}
