package redis

import (
	"context"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

// counting counts round trips. Each call counts as one, unless the client-side cache
// answers the whole call.
type counting struct {
	rueidis.Client

	trips atomic.Int64
}

func (c *counting) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	c.trips.Add(1)
	return c.Client.DoMulti(ctx, commands...)
}

func (c *counting) DoMultiCache(ctx context.Context, commands ...rueidis.CacheableTTL) []rueidis.RedisResult {
	out := c.Client.DoMultiCache(ctx, commands...)
	for i := range out {
		if !out[i].IsCacheHit() {
			c.trips.Add(1)
			break
		}
	}
	return out
}

// page returns n subjects, as on a page of a feed.
func page(n int) []storage.Subject {
	out := make([]storage.Subject, n)
	for i := range out {
		out[i] = video(strconv.Itoa(i))
	}
	return out
}

func TestRoundTrips(t *testing.T) {
	server, db := startServer(t), &hooked{Database: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db})
	holdLease(s) // polls would count as round trips
	client := &counting{Client: s.scripts.Client}
	s.scripts.Client = client
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(bob, movie, storage.Like, 1)}, storage.Queued, nil)) // so that the server knows the scripts
	see(t, s, bob, movie)
	_, err := s.Interactives(t.Context(), alice, append(page(2), bob.Subject()), window.KindSet) // and the scripts for many keys
	must.Succeed(t, err)
	for _, subjects := range []int{1, 20, 100} {
		viewer := storage.User{Tenant: movie.Tenant, UserID: "viewer of " + strconv.Itoa(subjects)}
		all := page(subjects)
		for i := range subjects {
			all[i].BizID += " of " + strconv.Itoa(subjects)
			all = append(all, storage.User{Tenant: movie.Tenant, UserID: all[i].BizID}.Subject()) // the author
		}
		for _, c := range []struct {
			what             string
			trips, questions int64
		}{{"cold", 3, 2}, {"the client's cache is cold", 2, 0}, {"warm", 1, 0}} {
			client.trips.Store(0)
			db.reads.Store(0)
			got, err := s.Interactives(t.Context(), viewer, all, window.KindSet)
			must.Succeed(t, err)
			if trips, questions := client.trips.Load(), db.reads.Load(); trips < 1 || trips > c.trips || questions > c.questions {
				t.Errorf("%d subjects, %s: got %d round trips, %d questions to the database, want at most %d and %d",
					len(got), c.what, trips, questions, c.trips, c.questions)
			}
			if c.what == "cold" {
				awaitCached(t, s, all...)
			}
		}
	}
}

// An action takes two round trips. The first gets the state. The second applies the
// action, and also returns the subject as a query would.
func TestApplyReturnsTheSubject(t *testing.T) {
	s, _, db := openNew(t, Options{})
	holdLease(s) // polls would count as round trips
	client := &counting{Client: s.scripts.Client}
	s.scripts.Client = client
	persist(t, db, s, storagetest.React(bob, movie, storage.Like, 1), storagetest.Collect(bob, movie, "x", 2))
	see(t, s, alice, movie)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(bob, video("other"), storage.Like, 1)}, storage.Queued, nil)) // so that the server knows the script
	for i, a := range []storage.Action{
		storagetest.React(alice, movie, storage.Like, 10), storagetest.Collect(alice, movie, "y", 11), storagetest.React(alice, movie, storage.Dislike, 12), storagetest.React(alice, movie, storage.NoReaction, 13),
	} {
		client.trips.Store(0)
		_, _, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(a.Kind))
		must.Succeed(t, err)
		var seen storage.Interactive
		must.Succeed(t, s.Apply(t.Context(), []storage.Action{a}, storage.Queued, []*storage.Interactive{&seen}))
		if trips := client.trips.Load(); trips != 2 {
			t.Errorf("action %d took %d round trips, want 2", i, trips)
		}
		want := see(t, s, alice, movie)
		if seen.Freshness != storage.Live || !reflect.DeepEqual(seen, want) {
			t.Errorf("action %d: Apply returned %s, want what a query returns: %s", i, storagetest.Text(seen), storagetest.Text(want))
		}
	}
}

// Apply returns subjects for queued actions only, since docs/model/mirror covers no other
// actions.
func TestApplyReturnsNoSubjectOfPersistedActions(t *testing.T) {
	s, _, _ := openNew(t, Options{})
	see(t, s, alice, movie)
	for _, where := range []storage.Durability{storage.Queued, storage.Persisted} {
		var seen storage.Interactive
		must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, where, []*storage.Interactive{&seen}))
		if (seen.Freshness == storage.Live) != (where == storage.Queued) {
			t.Errorf("Apply of a %s action returned %+v, want a subject only if it is %s", where, seen, storage.Queued)
		}
	}
}

// Two actions in one window share one reply, which covers only one of the actions. Apply
// then returns neither subject.
func TestApplyReturnsNoSubjectOfTwoAtOnce(t *testing.T) {
	s, _, _ := openNew(t, Options{})
	see(t, s, alice, movie)
	see(t, s, bob, movie)
	var seen [3]storage.Interactive
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10), storagetest.React(bob, movie, storage.Like, 11), storagetest.Collect(alice, movie, "y", 12)},
		storage.Queued, []*storage.Interactive{&seen[0], &seen[1], &seen[2]}))
	if seen[0].Freshness != "" || seen[2].Freshness != "" || seen[1].Freshness != storage.Live || seen[1].LikeCount != 1 {
		t.Errorf("got %+v, want the second alone, %s with one like", seen, storage.Live)
	}
}

// BenchmarkPage reads the counts and the viewer's states of 20 subjects.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name   string
		viewer storage.User
		likes  int // of the viewer, among the 20 subjects
	}{
		{"Anonymous", storage.User{Tenant: movie.Tenant}, 0},
		{"Viewer", alice, 0},
		{"ViewerOfLiked", alice, 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, server, db := openNew(b, Options{})
			subjects := page(20)
			see(b, s, alice, movie)
			var actions []storage.Action
			for i := range c.likes {
				actions = append(actions, storagetest.React(alice, subjects[i], storage.Like, 1))
			}
			persist(b, db, s, actions...)
			read := func() {
				if _, err := s.Interactives(b.Context(), c.viewer, subjects, window.KindSet); err != nil {
					b.Error(err)
				}
			}
			for range 3 {
				read()
			}
			before := commands(b, server)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					read()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(float64(commands(b, server)-before)/float64(b.N), "commands/page")
		})
	}
}

// commands returns how many commands the server has processed.
func commands(tb testing.TB, s *server) int64 {
	tb.Helper()
	n, err := strconv.ParseInt(epochs.InfoField(s.text("INFO", "stats"), "total_commands_processed"), 10, 64)
	must.Succeed(tb, err)
	return n
}

// BenchmarkWrite applies, marks and publishes the actions of a thousand users.
func BenchmarkWrite(b *testing.B) {
	s, server, _ := openNew(b, Options{})
	const users = 1000
	var outcome storage.Outcome
	write := func(b *testing.B, actions []storage.Action) {
		b.Helper()
		outcome.Epoch = s.epochs.Current().Number
		must.Succeed(b, s.Apply(b.Context(), actions, storage.Queued, nil))
		must.Succeed(b, s.Mark(b.Context(), outcome))
		must.Succeed(b, s.Publish(b.Context(), outcome))
		outcome = storage.Outcome{}
	}
	version := int64(0)
	next := func() []storage.Action {
		version++
		outcome.Counts = []storage.SubjectCounts{{Subject: movie, Counts: storage.Counts{Version: version}}}
		return make([]storage.Action, users)
	}
	of := func(i int) storage.User { return storage.User{Tenant: movie.Tenant, UserID: strconv.Itoa(i)} }
	b.Run("Likes", func(b *testing.B) {
		before := cpu(b, server)
		for b.Loop() {
			actions := next()
			for i := range actions {
				a := storagetest.React(of(i), movie, storage.Reaction(version%2), version)
				actions[i] = a
				outcome.Applied = append(outcome.Applied, storage.StateChange{
					User: a.User, Subject: movie, Kind: storage.KindReaction, Reaction: a.Reaction, Version: version,
				})
			}
			write(b, actions)
		}
		b.ReportMetric(float64(b.N)*users/b.Elapsed().Seconds(), "actions/s")
		b.ReportMetric((cpu(b, server)-before)/float64(b.N)/users, "redis-µs/action")
	})
	b.Run("Reads", func(b *testing.B) {
		before := cpu(b, server)
		for b.Loop() {
			actions := next()
			for i := range actions {
				actions[i] = read(of(i), movie, 1)
			}
			write(b, actions)
		}
		b.ReportMetric(float64(b.N)*users/b.Elapsed().Seconds(), "actions/s")
		b.ReportMetric((cpu(b, server)-before)/float64(b.N)/users, "redis-µs/action")
	})
}

// cpu returns the CPU time that the server has used, in microseconds. Other processes on
// the machine do not affect it.
func cpu(tb testing.TB, s *server) (us float64) {
	tb.Helper()
	info := s.text("INFO", "cpu")
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(epochs.InfoField(info, field), 64)
		must.Succeed(tb, err)
		us += 1e6 * seconds
	}
	return us
}
