package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/seed"
	"ovation/storage"
)

// RunTrends runs the cases of storage.Trends and storage.Lister.Trending. The stores
// returned by Open must implement storage.Trends and storage.EventLog.
func RunTrends(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	runParallel(t, newDatabase, []testCase{
		{"TrendsAreTheSumsOfTheirBuckets", trendsAreTheSumsOfTheirBuckets},
		{"TrendsArePaged", trendsArePaged},
		{"DeletedSubjectsHaveNoTrends", deletedSubjectsHaveNoTrends},
		{"EventsAreFoldedOnce", eventsAreFoldedOnce},
	})
}

// trends returns the store as that of trends.
func (w *world) trends() storage.Trends {
	w.Helper()
	trends, is := w.s.(storage.Trends)
	if !is {
		w.Fatalf("%T is no storage.Trends", w.s)
	}
	return trends
}

// trending returns all entries of a list of trends, read in pages.
func (w *world) trending(q storage.TrendingQuery, first int) (out []string) {
	w.Helper()
	for q.First = first; ; {
		pages, err := w.s.Trending(w.Context(), []storage.TrendingQuery{q})
		w.must(err)
		for _, e := range pages[0].Entries {
			w.equal("the tenant and biz", []string{e.Subject.Tenant, e.Subject.Biz}, []string{q.Tenant, q.Biz})
			out = append(out, fmt.Sprint(e.Subject.BizID, ":", e.Score))
			q.After = storage.Position{Version: e.Score, ID: e.Subject.BizID}
		}
		if len(pages[0].Entries) < first {
			return out
		}
	}
}

// trendModel holds the deltas that were folded and have not expired.
type trendModel []storage.TrendDelta

// list returns what the list of trends should be.
func (m trendModel) list(q storage.TrendingQuery) (out []string) {
	sums := map[string]int64{}
	for _, d := range m {
		if d.Window == q.Window && d.Subject.Tenant == q.Tenant && d.Subject.Biz == q.Biz {
			sums[d.Subject.BizID] += d.Score
		}
	}
	var entries []storage.Trend
	for id, score := range sums {
		if score > 0 {
			entries = append(entries, storage.Trend{Subject: storage.Subject{BizID: id}, Score: score})
		}
	}
	slices.SortFunc(entries, func(a, b storage.Trend) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Subject.BizID, a.Subject.BizID))
	})
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Subject.BizID, ":", e.Score))
	}
	return out
}

// trendsAreTheSumsOfTheirBuckets folds random deltas at random times while the clock
// advances, and compares every list with a model.
func trendsAreTheSumsOfTheirBuckets(w *world) {
	random := rand.New(rand.NewPCG(seed.Of(w.T), 1)) //nolint:gosec // the seed repeats a run
	lease, err := w.log().LeaseEvents(w.Context(), "trends", "one", time.Hour)
	w.must(err)
	var model trendModel
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	subject := func() storage.Subject {
		return storage.Subject{
			Tenant: []string{"default", "other"}[random.IntN(2)], Biz: []string{"video", "article"}[random.IntN(2)],
			BizID: []string{"1", "2", "3", "ü", "\"", "4"}[random.IntN(6)],
		}
	}
	for range 60 {
		now = now.Add(time.Duration(random.Int64N(int64(7 * time.Hour))))
		fold := storage.TrendFold{Lease: lease, Position: lease.Position + 1}
		sums := map[storage.TrendDelta]int64{}
		for range random.IntN(40) {
			window := storage.TrendWindows[random.IntN(3)]
			at := now.Add(-time.Duration(random.Int64N(int64(3 * time.Hour))))
			sums[storage.TrendDelta{Subject: subject(), Window: window, Bucket: window.Bucket(at)}] += int64(random.IntN(9) - 3)
		}
		for d, score := range sums {
			d.Score = score
			fold.Deltas = append(fold.Deltas, d)
		}
		if random.IntN(5) == 0 {
			fold.Removed = []storage.Subject{subject()}
			model = slices.DeleteFunc(model, func(d storage.TrendDelta) bool { return d.Subject == fold.Removed[0] })
		}
		w.must(w.trends().FoldTrends(w.Context(), fold))
		lease.Position = fold.Position
		model = append(model, fold.Deltas...)

		stale := fold // the position is not that of the lease any more
		w.wantError("the same part once more", w.trends().FoldTrends(w.Context(), stale), storage.ErrLeaseLost)
		_, err := w.trends().ExpireTrends(w.Context(), stale.Lease, now, 10)
		w.wantError("expiring with an old position", err, storage.ErrLeaseLost)

		for limit := 1 + random.IntN(20); ; {
			n, err := w.trends().ExpireTrends(w.Context(), lease, now, limit)
			w.must(err)
			if n < limit {
				break
			}
		}
		model = slices.DeleteFunc(model, func(d storage.TrendDelta) bool { return d.Bucket < d.Window.Oldest(now) })
		for _, window := range storage.TrendWindows {
			for _, tenant := range []string{"default", "other"} {
				for _, biz := range []string{"video", "article"} {
					q := storage.TrendingQuery{Tenant: tenant, Biz: biz, Window: window}
					w.equal(fmt.Sprintf("the trends of %+v", q), w.trending(q, 1+random.IntN(7)), model.list(q))
				}
			}
		}
	}
	n, err := w.trends().ExpireTrends(w.Context(), lease, now.Add(30*24*time.Hour), 1_000_000)
	w.must(err)
	w.equal("expired at the end", n > 0, true)
	w.db.Edit(w.T, `INSERT INTO trend_bucket SELECT "window", tenant, biz, biz_id, 0, score FROM trend_score`) // none
	n, err = w.trends().ExpireTrends(w.Context(), lease, now.Add(30*24*time.Hour), 1_000_000)
	w.must(err)
	w.equal("scores left at the end", n, 0)
}

func trendsArePaged(w *world) {
	lease, err := w.log().LeaseEvents(w.Context(), "trends", "one", time.Hour)
	w.must(err)
	fold := storage.TrendFold{Lease: lease, Position: 1}
	for i := range 25 {
		fold.Deltas = append(fold.Deltas, storage.TrendDelta{Subject: video(strconv.Itoa(i)), Window: storage.TrendDay, Bucket: 1, Score: int64(i/3 - 2)})
	}
	w.must(w.trends().FoldTrends(w.Context(), fold))
	var want []string
	for score := 6; score > 0; score-- {
		for i := 24; i >= 0; i-- {
			if i/3-2 == score {
				want = append(want, fmt.Sprint(i, ":", score))
			}
		}
	}
	slices.SortStableFunc(want, func(a, b string) int { // numbers are sorted as texts
		score := func(s string) byte { return s[len(s)-1] }
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(b[:len(b)-2], a[:len(a)-2]))
	})
	q := storage.TrendingQuery{Tenant: storage.DefaultTenant, Biz: "video", Window: storage.TrendDay}
	for _, first := range []int{1, 2, 3, 7, 100} {
		w.equal("the pages of "+strconv.Itoa(first), w.trending(q, first), want)
	}
	two := []storage.TrendingQuery{{Tenant: "other", Biz: "video", Window: storage.TrendDay, Page: storage.Page{First: 5}}, q}
	two[1].First = 1
	pages, err := w.s.Trending(w.Context(), two)
	w.must(err)
	w.equal("several queries", []int{len(pages), len(pages[0].Entries), len(pages[1].Entries)}, []int{2, 0, 1})
	for _, none := range []storage.TrendingQuery{{Tenant: "default", Biz: "video", Window: storage.TrendHour}, {Tenant: "default", Biz: "a\x00", Window: storage.TrendDay}} {
		w.equal("no trends", w.trending(none, 5), []string(nil))
	}
}

func deletedSubjectsHaveNoTrends(w *world) {
	alice := user("alice")
	clip, other := w.publish(newVideo(alice, "clip")), w.publish(newVideo(alice, "other"))
	lease, err := w.log().LeaseEvents(w.Context(), "trends", "one", time.Hour)
	w.must(err)
	add := func(of *storage.Video, score int64) storage.TrendDelta {
		return storage.TrendDelta{Subject: of.Key().Subject(), Window: storage.TrendHour, Bucket: 5, Score: score}
	}
	w.must(w.trends().FoldTrends(w.Context(), storage.TrendFold{Lease: lease, Position: 1, Deltas: []storage.TrendDelta{add(clip, 9), add(other, 3)}}))
	lease.Position = 1
	q := storage.TrendingQuery{Tenant: alice.Tenant, Biz: storage.BizVideo, Window: storage.TrendHour}
	w.equal("two videos", w.trending(q, 5), []string{clip.VideoID() + ":9", other.VideoID() + ":3"})
	w.must(w.deleteVideo(clip, alice))
	w.equal("after the deletion", w.trending(q, 5), []string{other.VideoID() + ":3"})
	w.must(w.trends().FoldTrends(w.Context(), storage.TrendFold{Lease: lease, Position: 2, Removed: []storage.Subject{clip.Key().Subject()}, Deltas: []storage.TrendDelta{add(clip, -5)}}))
	lease.Position = 2
	w.equal("after its event", w.trending(q, 5), []string{other.VideoID() + ":3"})
	w.db.Edit(w.T, `UPDATE interactive SET deleted = 0`)
	w.equal("what the event has left", w.trending(q, 5), []string{other.VideoID() + ":3"})
	n, err := w.trends().ExpireTrends(w.Context(), lease, storage.Time(2_000_000_000_000_000), 10)
	w.must(err)
	w.equal("expired", n, 2)
	w.equal("at the end", w.trending(q, 5), []string(nil))
}

// eventsAreFoldedOnce lets several processes, which take the lease from each other, fold
// the same parts.
func eventsAreFoldedOnce(w *world) {
	const parts = 40
	var all sync.WaitGroup
	for i := range 3 {
		s := w.open()
		log, trends := s.(storage.EventLog), s.(storage.Trends) //nolint:forcetypeassert // both stores are both
		all.Go(func() {
			holder := fmt.Sprint("holder ", i)
			for {
				lease, err := log.LeaseEvents(w.Context(), "trends", holder, time.Microsecond)
				if err != nil {
					if !isLost(err) {
						w.Error(err)
						return
					}
					continue
				}
				if lease.Position == parts {
					return
				}
				err = trends.FoldTrends(w.Context(), storage.TrendFold{Lease: lease, Position: lease.Position + 1, Deltas: []storage.TrendDelta{
					{Subject: video("1"), Window: storage.TrendHour, Bucket: lease.Position % 3, Score: 1},
				}})
				if err != nil && !isLost(err) {
					w.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	q := storage.TrendingQuery{Tenant: storage.DefaultTenant, Biz: "video", Window: storage.TrendHour}
	w.equal("the score", w.trending(q, 5), []string{fmt.Sprint("1:", parts)})
}

func isLost(err error) bool { return errors.Is(err, storage.ErrLeaseLost) }
