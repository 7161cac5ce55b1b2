package counts

import (
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/keyspace"
)

// cachedOf stores counts in n as a reader does.
func cachedOf(n *Cache, at keyspace.Epoch, counts storage.Counts, until int64, subjects ...storage.Subject) {
	out, ends := make([]Result, len(subjects)), make([]int64, len(subjects))
	for i := range subjects {
		out[i], ends[i] = Result{counts, true}, until
	}
	left := make([]int, len(subjects))
	for i := range left {
		left[i] = i
	}
	n.put(n.reserve(subjects, left), at, subjects, left, out, ends)
}

func TestOnlyCurrentReadsAreServedFromCache(t *testing.T) {
	now, at, other := time.Now().UnixMilli(), keyspace.Of("p", 7), video("other")
	two, long := storage.Counts{LikeCount: 2, Version: 2}, now+time.Hour.Milliseconds()
	all := []storage.Subject{movie, other}
	for name, c := range map[string]struct {
		do     func(n *Cache)
		cached bool
		at     keyspace.Epoch
	}{
		"it was read":                     {func(n *Cache) { cachedOf(n, at, two, long, all...) }, true, at},
		"nothing was read":                {func(*Cache) {}, false, at},
		"it has ended":                    {func(n *Cache) { cachedOf(n, at, two, now, all...) }, false, at},
		"it was not cached":               {func(n *Cache) { cachedOf(n, at, two, -1, all...) }, false, at},
		"in another epoch":                {func(n *Cache) { cachedOf(n, at, two, long, all...) }, false, keyspace.Of("p", 8)},
		"it has changed":                  {func(n *Cache) { cachedOf(n, at, two, long, all...); n.Invalidate(all[:1]) }, false, at},
		"all may have changed":            {func(n *Cache) { cachedOf(n, at, two, long, all...); n.InvalidateAll() }, false, at},
		"another one has changed":         {func(n *Cache) { cachedOf(n, at, two, long, all...); n.Invalidate(all[1:]) }, true, at},
		"it changed meanwhile":            {readDuring(at, two, func(n *Cache) { n.Invalidate(all[:1]) }), false, at},
		"all changed meanwhile":           {readDuring(at, two, func(n *Cache) { n.InvalidateAll() }), false, at},
		"others changed meanwhile":        {readDuring(at, two, func(n *Cache) { n.Invalidate(all[1:]) }), true, at},
		"another began to read meanwhile": {readDuring(at, two, func(n *Cache) { n.reserve(all, []int{0}) }), false, at},
		"it is not known": {func(n *Cache) {
			n.put(n.reserve(all, []int{0}), at, all, []int{0}, make([]Result, 2), []int64{long})
		}, false, at},
	} {
		for _, before := range []int64{0, 1} { // version of counts that were seen before; 0: none were
			n, out := NewCache(), make([]Result, 1)
			if before > 0 {
				n.Observe(at, movie, storage.Counts{Version: before})
			}
			c.do(n)
			if left := n.Get(c.at, all[:1], out); (len(left) == 0) != c.cached || c.cached && (out[0].Counts != two || !out[0].Known) {
				t.Errorf("%s: got cached: %t, %+v, want cached: %t, %+v if so", name, len(left) == 0, out[0], c.cached, two)
			}
		}
	}
}

// readDuring returns a function that reads the counts of movie into a Cache, and calls
// happens before the counts arrive.
func readDuring(at keyspace.Epoch, counts storage.Counts, happens func(*Cache)) func(*Cache) {
	return func(n *Cache) {
		one := []storage.Subject{movie}
		turn := n.reserve(one, []int{0})
		happens(n)
		n.put(turn, at, one, []int{0}, []Result{{counts, true}}, []int64{math.MaxInt64})
	}
}

func TestCacheIsBounded(t *testing.T) {
	n, at := NewCache(), keyspace.Of("p", 1)
	for i := range maxCached + 10 {
		cachedOf(n, at, storage.Counts{Version: 1}, math.MaxInt64, video(strconv.Itoa(i)))
	}
	if len(n.entries) != maxCached {
		t.Errorf("got %d cached counts, want %d", len(n.entries), maxCached)
	}
	if left := n.Get(at, []storage.Subject{video(strconv.Itoa(maxCached + 9))}, make([]Result, 1)); len(left) > 0 {
		t.Error("the counts cached last are not cached")
	}
}

func TestSeenCountsAreNotFollowedByOlderOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, one, other := keyspace.Of("p", 7), []storage.Subject{movie}, video("other")
		v := func(version int64) storage.Counts { return storage.Counts{LikeCount: version, Version: version} }
		read := func(n *Cache, of storage.Counts) storage.Counts { // through a client-side cache that has these counts
			out := make([]Result, 1)
			if left := n.Get(at, one, out); len(left) > 0 {
				turn := n.reserve(one, left)
				out[0] = Result{of, true}
				n.put(turn, at, one, left, out, []int64{math.MaxInt64})
				n.raiseToSeen(one, left, out)
			}
			return out[0].Counts
		}
		for name, c := range map[string]struct {
			do   func(n *Cache)
			want storage.Counts // of a reader whose client-side cache still has version 2
		}{
			"nothing was seen":              {func(*Cache) {}, v(2)},
			"newer counts were seen":        {func(n *Cache) { n.Observe(at, movie, v(3)) }, v(3)},
			"those of another subject":      {func(n *Cache) { n.Observe(at, other, v(3)) }, v(2)},
			"older counts were seen":        {func(n *Cache) { n.Observe(at, movie, v(1)) }, v(2)},
			"older ones after newer ones":   {func(n *Cache) { n.Observe(at, movie, v(3)); n.Observe(at, movie, v(1)) }, v(3)},
			"while older ones were cached":  {func(n *Cache) { read(n, v(2)); n.Observe(at, movie, v(3)) }, v(3)},
			"before an invalidation":        {func(n *Cache) { read(n, v(1)); n.Observe(at, movie, v(3)); n.Invalidate(one) }, v(3)},
			"before the connection broke":   {func(n *Cache) { n.Observe(at, movie, v(3)); n.InvalidateAll() }, v(3)},
			"before the database went back": {func(n *Cache) { n.Observe(at, movie, v(3)); n.Reset(at) }, v(2)},
			"while the database went back":  {func(n *Cache) { n.Reset(at); n.Observe(at, movie, v(3)) }, v(2)},
			"after the database went back":  {func(n *Cache) { n.Reset(keyspace.Of("p", 6)); n.Observe(at, movie, v(3)) }, v(3)},
			"long ago":                      {func(n *Cache) { n.Observe(at, movie, v(3)); time.Sleep(seenTTL) }, v(2)},
			"long ago, and others since": {func(n *Cache) {
				n.Observe(at, movie, v(9))
				time.Sleep(seenTTL)
				n.Observe(at, movie, v(3))
			}, v(3)},
		} {
			n := NewCache()
			c.do(n)
			if got := [2]storage.Counts{read(n, v(2)), read(n, v(2))}; got[0] != c.want || got[1] != c.want {
				t.Errorf("%s: two reads returned %+v, want %+v each", name, got, c.want)
			}
		}
	})
}

var movie = video("movie")

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}
