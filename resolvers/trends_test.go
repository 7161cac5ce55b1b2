package resolvers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// startWithTrends starts a service with 100 trending videos.
func startWithTrends(t *testing.T, options ...option) *service {
	t.Helper()
	return start(t, append(options, withStore(func(s storage.Store) storage.Store {
		database := s.(interface {
			storage.EventLog
			storage.Trends
		})
		lease, err := database.LeaseEvents(t.Context(), "trends", "test", time.Hour)
		must.Succeed(t, err)
		fold := storage.TrendFold{Lease: lease, Position: 1}
		for i := range 100 {
			fold.Deltas = append(fold.Deltas, storage.TrendDelta{
				Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(i)},
				Window:  storage.TrendDay, Bucket: storage.TrendDay.Bucket(time.Now()), Score: int64(1 + i/2),
			})
		}
		must.Succeed(t, database.FoldTrends(t.Context(), fold))
		return s
	}))...)
}

func TestTrending(t *testing.T) {
	s := startWithTrends(t)
	var want []string
	for i := 49; i >= 0; i-- {
		want = append(want, fmt.Sprint(2*i+1), fmt.Sprint(2*i))
	}
	for score := range 50 { // of equal scores, the bizIds descend as texts
		slices.SortFunc(want[2*score:2*score+2], func(a, b string) int { return strings.Compare(b, a) })
	}
	for _, first := range []int{7, 100} {
		if got := s.pages(t, "", "", `trending(biz: "video", %s)`, "bizId", first); !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %v, want %v", first, got, want)
		}
	}
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "99"}) { changed } }`)
	same(t, s.ok(t, "alice", `{ trending(biz: "video", window: DAY, first: 1) { edges { score node { bizId likeCount liked { reaction } } } } }`),
		`{"trending":{"edges":[{"score":50,"node":{"bizId":"99","likeCount":1,"liked":{"reaction":"LIKE"}}}]}}`)
	const none = `{"trending":{"edges":[],"pageInfo":{"hasNextPage":false}}}`
	for _, query := range []string{`biz: "video", window: HOUR`, `biz: "video", window: WEEK`, `biz: "article"`} {
		same(t, s.ok(t, "alice", `{ trending(`+query+`) { edges { score } pageInfo { hasNextPage } } }`), none)
	}
	same(t, s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, `{ trending(biz: "video") { edges { score } pageInfo { hasNextPage } } }`).Data, none)
	cursor := dig(t, s.ok(t, "", `{ trending(biz: "video", first: 3) { pageInfo { endCursor } } }`), "trending", "pageInfo", "endCursor").(string)
	for _, arguments := range []string{`biz: "Video"`, `biz: "video", first: 0`, `biz: "video", after: "x"`, `biz: "video", window: HOUR, after: "` + cursor + `"`, `biz: "video", window: YEAR`} {
		s.refused(t, "BAD_USER_INPUT", "alice", `{ trending(`+arguments+`) { edges { score } } }`)
	}
}

// A page of trends takes two calls to storage, however many subjects it has.
func TestTrendsTakeConstantCalls(t *testing.T) {
	s := startWithTrends(t)
	for _, first := range []int{1, 100} {
		s.calls.taken(t)
		s.ok(t, "alice", `query($n: Int!) { trending(biz: "video", first: $n) { edges { score node { likeCount liked { at } } } } }`, "n", first)
		if got := s.calls.taken(t); len(got) != 2 || got["Trending"] != 1 || got["Interactives"] != 1 {
			t.Errorf("a page of %d: got the calls %v, want one of Trending and one of Interactives", first, got)
		}
	}
}

func TestSitesWithoutTrends(t *testing.T) {
	s := start(t, func(set *settings) { set.noTrends = true })
	if got := s.refused(t, "NOT_FOUND", "alice", `{ trending(biz: "video") { edges { score } } }`); !strings.Contains(got, "--trending") {
		t.Errorf("got %q, want the flag that turns trends on", got)
	}
}
