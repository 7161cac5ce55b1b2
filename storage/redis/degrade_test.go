package redis

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

// short is a timeout for tests that wait for it to expire because a server hangs. It is
// long enough for calls of servers that do not hang, even on a busy machine.
const short = time.Second

// awaitLive waits until the movie is storage.Live for alice, and returns it as she sees
// it.
func awaitLive(tb testing.TB, s *Store) storage.Interactive {
	tb.Helper()
	var got storage.Interactive
	await.That(tb, "the reply to alice is LIVE", func() bool {
		passBarrier(tb, s, s.opts.Database)
		got = see(tb, s, alice, movie)
		return got.Freshness == storage.Live
	})
	return got
}

func TestWithoutRedisTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	see(t, s, alice, movie)
	server.kill()

	got := see(t, s, alice, movie)
	if got.LikeCount != 1 || got.Liked == nil || got.Freshness != storage.Stale {
		t.Errorf("without Redis: got %+v, want 1 like, alice's, %s", got, storage.Stale)
	}
	states, where, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, window.KindSet)
	if err != nil || states[0].Reaction.Version() != 10 || where != "" {
		t.Errorf("without Redis: Get = %+v, %q, %v, want version 10, no durability", states, where, err)
	}
	list, err := s.States(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.AllKinds)
	if err != nil || list[0].Liked == nil {
		t.Errorf("without Redis: States = %+v, %v, want a like", list, err)
	}
	dislike := storagetest.React(alice, movie, storage.Dislike, 20)
	for what, err := range map[string]error{
		"Invalidate": s.Invalidate(t.Context(), []storage.Action{dislike}),
		"Publish":    s.Publish(t.Context(), storage.Outcome{Epoch: s.epochs.Current().Number, Counts: []storage.SubjectCounts{{Subject: movie}}}),
	} {
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s: got %v, want %v", what, err, storage.ErrUnavailable)
		}
	}
	if _, err := s.Persist(t.Context(), message(dislike), nil); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Persist: got %v, want %v", err, storage.ErrUnavailable)
	}
	if got := see(t, s, alice, movie); got.LikeCount != 1 {
		t.Errorf("after a commit that could not be marked: got %+v, want still 1 like", got)
	}
	_ = s.Apply(t.Context(), []storage.Action{dislike}, storage.Queued, nil)
	if got := see(t, s, alice, movie); got.LikeCount != 0 || got.DislikeCount != 1 || got.Freshness != storage.Stale {
		t.Errorf("with a pending dislike: got %+v, want 0 likes, 1 dislike, %s", got, storage.Stale)
	}

	server.start()
	got = awaitLive(t, s)
	if got.DislikeCount != 1 || got.Liked == nil {
		t.Errorf("after Redis has recovered: got %+v, want 1 dislike, alice's", got)
	}
	persist(t, db, s, dislike)
	if got := see(t, s, alice, movie); got.DislikeCount != 1 || got.LikeCount != 0 {
		t.Errorf("final result: got %+v, want 0 likes, 1 dislike", got)
	}
}

// After Redis has restarted without its data, Get returns no durability. For a loss that
// leaves connections open, see TestAnswersAreStaleUntilTheBarrierIsPassed.
func TestGetKnowsNothingAfterALoss(t *testing.T) {
	t.Parallel()
	s, server, _ := openNew(t, Options{})
	see(t, s, alice, movie)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	if _, where := getStates(t, s, alice, movie); where != storage.Queued {
		t.Errorf("before the loss: Get returned the durability %q, want %q", where, storage.Queued)
	}
	before := s.epochs.Current().Number
	server.kill()
	server.start()
	// The like is queued, and Redis no longer holds it.
	await.That(t, "the next epoch has begun", func() bool { return s.epochs.Current().Number != before && s.epochs.LeaseValid(s.epochs.Current()) })
	if states, where := getStates(t, s, alice, movie); where != "" || states.Liked != nil {
		t.Errorf("after the loss: Get = %+v, %q, want no like, no durability", states, where)
	}
	if got := see(t, s, alice, movie); got.Freshness != storage.Stale {
		t.Errorf("after the loss: got %+v, want %s", got, storage.Stale)
	}
	await.That(t, "the reply to anonymous viewers is LIVE", func() bool {
		return see(t, s, storage.User{Tenant: movie.Tenant}, movie).Freshness == storage.Live
	})
	// A new action is visible, but its state is still not known to be the latest.
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 20)}, storage.Queued, nil))
	if states, where := getStates(t, s, alice, movie); where != "" || states.Liked == nil {
		t.Errorf("after another like: Get = %+v, %q, want a like, no durability", states, where)
	}
}

func TestCachedEntriesAreServedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), &hooked{Database: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db})
	see(t, s, alice, movie)
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	down := func(context.Context) error { return storage.ErrUnavailable }
	db.epochsWork.Store(true) // otherwise the lease would end within the next steps
	db.fail.Store(&down)

	ask := func(viewer storage.User) []storage.Interactive {
		got, err := s.Interactives(t.Context(), viewer, []storage.Subject{movie, video("cold")}, window.KindSet)
		must.Succeed(t, err)
		return got
	}
	got := ask(alice)
	if got[0].LikeCount != 1 || got[0].Liked == nil || got[0].Freshness == storage.Unavailable {
		t.Errorf("a cached subject: got %+v, want 1 like, alice's, not %s", got[0], storage.Unavailable)
	}
	if got[1].Counts != (storage.Counts{}) || got[1].Freshness != storage.Unavailable {
		t.Errorf("a subject that is not cached: got %+v, want no counts, %s", got[1], storage.Unavailable)
	}
	// The window of bob is not loaded: the counts are known, and bob's states are not.
	if got := ask(bob); got[0].LikeCount != 1 || got[0].Freshness != storage.Stale || got[1].Freshness != storage.Unavailable {
		t.Errorf("to bob: got %+v, want 1 like, %s, and the second %s", got, storage.Stale, storage.Unavailable)
	}
	// Mutations continue.
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Dislike, 20)}, storage.Queued, nil))
	if states, where := getStates(t, s, alice, movie); where != storage.Queued || states.Liked.Reaction != storage.Dislike {
		t.Errorf("after an action: Get = %+v, %q, want a dislike, %q", states, where, storage.Queued)
	}
	if got := ask(alice); got[0].LikeCount != 0 || got[0].DislikeCount != 1 {
		t.Errorf("after an action: got %+v, want 0 likes, 1 dislike", got[0])
	}
	if _, _, err := s.Get(t.Context(), []storage.StateKey{{User: bob, Subject: movie}}, window.KindSet); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Get of a state that is not cached: got %v, want %v", err, storage.ErrUnavailable)
	}
	if _, err := s.States(t.Context(), []storage.StateKey{{User: bob, Subject: movie}}, window.KindSet); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("States that are not cached: got %v, want %v", err, storage.ErrUnavailable)
	}
	db.epochsWork.Store(false)
	await.That(t, "the node finds the database unavailable", func() bool {
		ask(bob)
		return ask(alice)[0].Freshness == storage.Stale && !s.database.Healthy()
	})
	if _, err := s.CreateFolder(t.Context(), storage.Folder{Owner: alice, Name: "Films", Created: 1}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("CreateFolder: got %v, want %v", err, storage.ErrUnavailable)
	}

	// Without Redis and the database, nothing is known, but no call fails.
	server.kill()
	for _, i := range ask(alice) {
		if i.Counts != (storage.Counts{}) || i.Freshness != storage.Unavailable || i.BizID == "" {
			t.Errorf("without Redis and the database: got %+v, want its subject, no counts, %s", i, storage.Unavailable)
		}
	}
	server.start()
	db.fail.Store(nil)
	if got := awaitLive(t, s); got.LikeCount != 1 {
		t.Errorf("final result: got %+v, want 1 like", got)
	}
}

func TestHangingRedisIsNotCalled(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{RedisTimeout: short})
	see(t, s, alice, movie)
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	asked := 0
	call := func() {
		asked++
		fresh := storage.User{Tenant: movie.Tenant, UserID: strconv.Itoa(asked)}
		if _, err := s.Interactives(t.Context(), fresh, []storage.Subject{movie, video(fresh.UserID)}, window.KindSet); err != nil {
			t.Error(err)
		}
	}
	server.hang()
	await.That(t, "the breaker of Redis opens", func() bool { call(); return !s.redis.Healthy() })
	before := s.redis.Failures()
	for range 30 {
		call()
	}
	if n := s.redis.Failures() - before; n >= 30 { // polls fail as well
		t.Errorf("while Redis hangs, 30 calls have tried it %d times, want fewer", n)
	}
	server.resume()
	await.That(t, "Redis is healthy again", func() bool { call(); return s.redis.Healthy() })
	awaitLive(t, s)
}

func TestCancelledCallsAreNoFailures(t *testing.T) {
	server, db := startServer(t), &hooked{Database: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db})
	s.stopBackground() // polls would wait in db.fail, and count as failures
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		leave := func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		db.fail.Store(&leave)
		_, err := s.States(ctx, []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindRead))
		if !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("States of a cancelled call: got %v, want %v alone", err, context.Canceled)
		}
		if err := s.Publish(ctx, storage.Outcome{Epoch: s.epochs.Current().Number, Counts: []storage.SubjectCounts{{Subject: movie}}}); !errors.Is(err, context.Canceled) {
			t.Errorf("Publish of a cancelled call: got %v, want %v", err, context.Canceled)
		}
	}
	if !s.redis.Healthy() || !s.database.Healthy() {
		t.Errorf("after cancelled calls: Redis healthy: %t, database healthy: %t, want both", s.redis.Healthy(), s.database.Healthy())
	}
}

func TestMissesAtOnceAskOnce(t *testing.T) {
	server, db := startServer(t), &hooked{Database: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db})
	const callers = 20
	slowly := func(ctx context.Context) error {
		time.Sleep(50 * time.Millisecond) // slow enough for other callers to share the query; no event shows that they wait
		return ctx.Err()
	}
	db.fail.Store(&slowly)
	anonymous := storage.User{Tenant: movie.Tenant}
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			if _, err := s.Interactives(t.Context(), anonymous, []storage.Subject{movie, video("b"), video("c")}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	// Callers that arrive after the first query has begun share a second one. On a busy
	// machine, there may be more. Without sharing, each caller would make a query of its
	// own.
	if n := db.reads.Load(); n > callers/2 {
		t.Errorf("%d callers asked the database %d times, want at most %d", callers, n, callers/2)
	}
}

// While connections are lost, every call returns a result. No two connections share a
// command; the race detector would report that.
func TestReadsSurviveLostConnections(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var running sync.WaitGroup
	for i := range 8 {
		viewer := storage.User{Tenant: alice.Tenant, UserID: strconv.Itoa(i)}
		running.Go(func() {
			for ctx.Err() == nil {
				found, err := s.Interactives(context.WithoutCancel(ctx), viewer, []storage.Subject{movie, video(strconv.Itoa(i))}, storage.AllKinds)
				if err != nil || found[0].LikeCount != 1 {
					t.Errorf("a read while connections are lost: got %+v, %v, want 1 like of the first subject", found, err)
					return
				}
			}
		})
	}
	killer, tick := server.client(), time.NewTicker(3*time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		must.Succeed(t, killer.Do(t.Context(), killer.B().Arbitrary("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Build()).Error())
		<-tick.C
	}
	running.Wait()
}
