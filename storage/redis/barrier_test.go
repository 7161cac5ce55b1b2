package redis

import (
	"errors"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/storagetest"
)

// After Redis has lost data, it is unknown which actions are queued. Replies are STALE
// until the workers have passed the barrier, however long that takes, and LIVE right
// afterwards.
func TestAnswersAreStaleUntilTheBarrierIsPassed(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wantLikes(t, "initially", see(t, s, alice, movie), 0, false)
	queued := storagetest.React(alice, movie, storage.Like, 10)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{queued}, storage.Queued, nil))
	must.Succeed(t, server.command("FLUSHALL").Error())
	await.That(t, "a barrier is due on both nodes", func() bool {
		return s.epochs.Active() != nil && other.epochs.Active() != nil && s.Barrier() != 0 && s.Barrier() == other.Barrier()
	})
	number := s.Barrier()
	for range 3 {
		for _, node := range []*Store{s, other} {
			poll(t, node)
			if got := see(t, node, alice, movie); got.Freshness != storage.Stale {
				t.Errorf("before the barrier is passed: got %+v, want %s", got, storage.Stale)
			}
			if _, where := getStates(t, node, alice, movie); where != "" {
				t.Errorf("before the barrier is passed: Get returned the durability %q, want none", where)
			}
		}
	}
	// The worker persists the queued action and passes the barrier in one batch.
	batch := append(message(queued), storage.Message{ID: "barrier", Barrier: storage.Barrier{Number: number, Partitions: 1}})
	var outcome storage.Outcome
	await.That(t, "the batch is persisted, once every lease on the old epoch has expired", func() (committed bool) {
		var err error
		if outcome, err = db.Persist(t.Context(), batch, s.Mark); !errors.Is(err, storage.ErrUnavailable) {
			must.Succeed(t, err)
		}
		return err == nil
	})
	must.Succeed(t, s.Publish(t.Context(), outcome))
	for _, node := range []*Store{s, other} {
		poll(t, node)
		// A background poll that read the epoch before the barrier was passed may store it
		// after the poll above.
		var got storage.Interactive
		await.That(t, "no barrier is due and the reply is LIVE after the barrier is passed", func() bool {
			got = see(t, node, alice, movie)
			return got.Freshness == storage.Live && node.Barrier() == 0
		})
		wantLikes(t, "after the barrier is passed", got, 1, true)
		if states, _ := getStates(t, node, alice, movie); states.Liked == nil {
			t.Errorf("after the barrier is passed: Get = %+v, want a like", states)
		}
	}
}

// A node that has not polled since the next epoch began applies actions to the previous
// one. After its next poll, it applies them again, in the next epoch.
func TestActionsAppliedWithoutALeaseAreAppliedAgain(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), openDatabase(t)
	cut, resume := openWithoutPolls(t, server, db)
	other := open(t, Options{URL: server.url(), Database: db})
	before := cut.epochs.Current()
	_, err := db.NextEpoch(t.Context(), before.Number, mirror.NewEpoch{Number: before.Number + 1, Holder: before.Holder})
	must.Succeed(t, err)
	await.That(t, "the lease of the node expires", func() bool { return !cut.epochs.LeaseValid(cut.epochs.Current()) })
	await.That(t, "the other node uses a newer epoch", func() bool { e := other.epochs.Active(); return e != nil && e.Number > before.Number })
	must.Succeed(t, cut.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	if n := cut.epochs.Current().Number; n != before.Number {
		t.Fatalf("a node that does not poll uses epoch %d, want still %d", n, before.Number)
	}
	resume()
	await.That(t, "the other node shows the like", func() bool {
		got := see(t, other, alice, movie)
		return got.LikeCount == 1 && got.Liked != nil
	})
	await.That(t, "no write is pending", func() bool { return cut.pending.Count() == 0 })
}

// A node may apply actions while its lease on an epoch is not valid. Once it has a lease
// on the same epoch again, these actions are no longer pending, and are not applied
// again.
func TestActionsAppliedWithoutALeaseStayInTheSameEpoch(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s, resume := openWithoutPolls(t, server, openDatabase(t))
	await.That(t, "the lease expires", func() bool { return !s.epochs.LeaseValid(s.epochs.Current()) })
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	if n := s.pending.Count(); n != 1 {
		t.Errorf("got %d pending states, want 1", n)
	}
	must.Succeed(t, server.command("DEL", s.epochs.Current().Keys.Window(mirror.WindowKey{User: alice, Biz: movie.Biz})).Error())
	time.Sleep(500 * time.Millisecond) // long enough for the like to be applied again, if it were not left alone
	resume()
	await.That(t, "no write is pending", func() bool { return s.pending.Count() == 0 })
	if got := see(t, s, alice, movie); got.Liked != nil {
		t.Errorf("with a lease on the same epoch: got %+v, want no like, since it is not applied again", got)
	}
}
