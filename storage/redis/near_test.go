package redis

import (
	"math"
	"testing"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/scripts"
)

// nearOf puts counts in as one who reads does.
func nearOf(n *near, at *epoch, counts storage.Counts, until int64, subjects ...storage.Subject) {
	out, ends := make([]counted, len(subjects)), make([]int64, len(subjects))
	for i := range subjects {
		out[i], ends[i] = counted{counts, true}, until
	}
	left := make([]int, len(subjects))
	for i := range left {
		left[i] = i
	}
	n.keep(n.reserve(subjects, left), at, subjects, left, out, ends)
}

func TestWhatIsNearIsWhatWasReadUnlessItHasChangedSince(t *testing.T) {
	now, at, other := time.Now().UnixMilli(), &epoch{number: 7}, video("other")
	two, long := storage.Counts{LikeCount: 2, Version: 2}, now+time.Hour.Milliseconds()
	all := []storage.Subject{movie, other}
	for name, c := range map[string]struct {
		do   func(n *near)
		near bool
		at   *epoch
	}{
		"it was read":                     {func(n *near) { nearOf(n, at, two, long, all...) }, true, at},
		"nothing was read":                {func(*near) {}, false, at},
		"it has ended":                    {func(n *near) { nearOf(n, at, two, now, all...) }, false, at},
		"it was not cached":               {func(n *near) { nearOf(n, at, two, -1, all...) }, false, at},
		"in another epoch":                {func(n *near) { nearOf(n, at, two, long, all...) }, false, &epoch{number: 8}},
		"it has changed":                  {func(n *near) { nearOf(n, at, two, long, all...); n.forget(all[:1]) }, false, at},
		"all may have changed":            {func(n *near) { nearOf(n, at, two, long, all...); n.forgetAll() }, false, at},
		"another one has changed":         {func(n *near) { nearOf(n, at, two, long, all...); n.forget(all[1:]) }, true, at},
		"it changed meanwhile":            {during(at, two, func(n *near) { n.forget(all[:1]) }), false, at},
		"all changed meanwhile":           {during(at, two, func(n *near) { n.forgetAll() }), false, at},
		"others changed meanwhile":        {during(at, two, func(n *near) { n.forget(all[1:]) }), true, at},
		"another began to read meanwhile": {during(at, two, func(n *near) { n.reserve(all, []int{0}) }), false, at},
		"it is not known": {func(n *near) {
			n.keep(n.reserve(all, []int{0}), at, all, []int{0}, make([]counted, 2), []int64{long})
		}, false, at},
	} {
		n, out := newNear(), make([]counted, 1)
		c.do(n)
		if left := n.find(c.at, all[:1], out); (len(left) == 0) != c.near || c.near && (out[0].Counts != two || !out[0].known) {
			t.Errorf("%s: near %v with %+v; want %v", name, len(left) == 0, out[0], c.near)
		}
	}
}

// during reads a movie's counts, and lets something happen before they come.
func during(at *epoch, counts storage.Counts, happens func(*near)) func(*near) {
	return func(n *near) {
		one := []storage.Subject{movie}
		turn := n.reserve(one, []int{0})
		happens(n)
		n.keep(turn, at, one, []int{0}, []counted{{counts, true}}, []int64{math.MaxInt64})
	}
}

func TestWhatIsNearIsBounded(t *testing.T) {
	n, at := newNear(), &epoch{number: 1}
	for i := range maxNear + 10 {
		nearOf(n, at, storage.Counts{Version: 1}, math.MaxInt64, video(scripts.Text(int64(i))))
	}
	if len(n.of) != maxNear {
		t.Errorf("%d are near; want %d", len(n.of), maxNear)
	}
	if left := n.find(at, []storage.Subject{video(scripts.Text(maxNear + 9))}, make([]counted, 1)); len(left) > 0 {
		t.Error("the last one is not near")
	}
}

// What is near goes when Redis tells that it has changed, and when there is
// nobody to tell it.
func TestWhatIsNearGoesWithTheClientsCache(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db})
	isNear := func() bool {
		return len(s.near.find(s.epoch.Load(), []storage.Subject{movie}, make([]counted, 1))) == 0
	}
	cached := func() bool {
		see(t, s, storage.User{Tenant: movie.Tenant}, movie)
		return isNear()
	}
	eventually(t, "the counts are near", cached)
	persist(t, db, s, react(bob, movie, storage.Like, 10))
	eventually(t, "they go when they change", func() bool { return !isNear() })
	eventually(t, "the counts are near again", cached)
	if got := see(t, s, storage.User{Tenant: movie.Tenant}, movie); got.LikeCount != 1 {
		t.Errorf("%d likes; want 1", got.LikeCount)
	}
	server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventually(t, "they go with the connection", func() bool { return !isNear() })
}
