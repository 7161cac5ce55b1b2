package redis

import (
	"errors"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// Without Redis, workers soon continue without marks. When Redis is available again, none
// of its earlier data is trusted.
func TestWorkersContinueWithoutRedis(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{RedisTimeout: short})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db), RedisTimeout: short})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	wantLikes(t, "initially", see(t, other, alice, movie), 1, true)
	before := s.epochs.Current().Number
	server.hang()
	var outcome storage.Outcome
	await.That(t, "the action is persisted without Redis", func() bool {
		var err error
		outcome, err = db.Persist(t.Context(), message(storagetest.React(alice, movie, storage.Dislike, 20)), s.Mark)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	if outcome.Epoch != 0 {
		t.Errorf("the action was persisted in epoch %d, want 0", outcome.Epoch)
	}
	must.Succeed(t, s.Publish(t.Context(), outcome))
	for _, store := range []*Store{s, other} {
		if got := see(t, store, alice, movie); got.DislikeCount != 1 || got.LikeCount != 0 || got.Freshness != storage.Stale {
			t.Errorf("without Redis: got %+v, want 0 likes, 1 dislike, %s", got, storage.Stale)
		}
	}
	server.resume() // with all its data
	for _, store := range []*Store{s, other} {
		if got := awaitLive(t, store); got.DislikeCount != 1 || got.LikeCount != 0 {
			t.Errorf("after Redis has recovered: got %+v, want 0 likes, 1 dislike", got)
		}
	}
	if e := s.epochs.Current(); e.Number == before {
		t.Errorf("the epoch is still %d, want a new one", e.Number)
	}
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 30))
	wantLikes(t, "finally", see(t, other, alice, movie), 1, true)
}

// Actions that a node could not apply are overlaid on its own replies, and become visible
// on every node as soon as Redis responds.
func TestPendingWritesAreOverlaid(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{RedisTimeout: short})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wantLikes(t, "initially", see(t, s, alice, movie), 0, false)
	server.hang()
	like := storagetest.React(alice, movie, storage.Like, 10)
	if err := s.Apply(t.Context(), []storage.Action{like, storagetest.Collect(alice, movie, "x", 11)}, storage.Queued, nil); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Apply while Redis hangs: got %v, want %v", err, storage.ErrUnavailable)
	}
	if got := see(t, s, alice, movie); got.LikeCount != 1 || got.Liked == nil || got.CollectCount != 1 || got.Freshness != storage.Stale {
		t.Errorf("to alice, whose writes are pending: got %+v, want 1 like and 1 collection, both hers, %s", got, storage.Stale)
	}
	if states, where := getStates(t, s, alice, movie); where != "" || states.Reaction.Version() != 10 || states.CollectionVersion != 11 {
		t.Errorf("with pending writes: Get = %+v, %q, want versions 10 and 11, no durability", states, where)
	}
	if got := see(t, s, bob, movie); got.LikeCount != 0 || got.Liked != nil {
		t.Errorf("to bob: got %+v, want no likes", got)
	}
	server.resume()
	await.That(t, "no write is pending", func() bool { return s.pending.Count() == 0 })
	// While Redis hangs, the lease of the other node may end.
	wantLikes(t, "after Redis has recovered", awaitLive(t, other), 1, true)
	persist(t, db, s, like)
	wantLikes(t, "persisted", see(t, other, alice, movie), 1, true)
}

// If Redis becomes unavailable right after a commit, a worker that only has to publish
// also closes the epoch and continues.
func TestPublishingWorkersContinueWithoutRedis(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{RedisTimeout: short})
	see(t, s, alice, movie)
	var outcome storage.Outcome
	await.That(t, "the action is persisted", func() bool { // a mark fails if Redis is too slow
		var err error
		if outcome, err = db.Persist(t.Context(), message(storagetest.React(alice, movie, storage.Like, 10)), s.Mark); !errors.Is(err, storage.ErrUnavailable) {
			must.Succeed(t, err)
		}
		return err == nil
	})
	server.hang()
	if err := s.Publish(t.Context(), outcome); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Publish while Redis hangs: got %v, want %v", err, storage.ErrUnavailable)
	}
	await.That(t, "the worker publishes without Redis", func() bool { return s.Publish(t.Context(), outcome) == nil })
	now, err := db.Epoch(t.Context())
	if must.Succeed(t, err); now.Open {
		t.Errorf("Epoch() = %+v, want it closed", now)
	}
}
