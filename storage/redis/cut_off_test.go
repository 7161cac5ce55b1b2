package redis

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/storagetest"
)

// cutOff opens two nodes on the same database: connections to Redis hang for the node
// cut, and work for the other node.
func cutOff(t *testing.T, db *sqlitetest.Database) (cut, other *Store) {
	t.Helper()
	server := startServer(t)
	to, err := url.Parse(server.url())
	must.Succeed(t, err)
	link := startProxy(t, to.Host)
	cut = open(t, Options{URL: "redis://" + link.listener.Addr().String(), Database: db, RedisTimeout: short})
	other = open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wantLikes(t, "initially", see(t, other, alice, movie), 0, false)
	link.gate.Lock()
	t.Cleanup(sync.OnceFunc(link.gate.Unlock))
	await.That(t, "the node finds Redis unavailable", func() bool { see(t, cut, alice, movie); return !cut.redis.Healthy() })
	return cut, other
}

// maxWait is how long Apply waits for a worker at most.
const maxWait = 300 * time.Millisecond

// applyAsync applies actions in the background, and returns a channel that receives the
// time that Apply took, and is then closed.
func applyAsync(t *testing.T, s *Store, actions ...storage.Action) chan time.Duration {
	t.Helper()
	replied := make(chan time.Duration, 1)
	go func() {
		defer close(replied)
		began := time.Now()
		_ = s.Apply(t.Context(), actions, storage.Queued, nil)
		replied <- time.Since(began)
	}()
	return replied
}

// wantBlocked fails the test if Apply returns within the next 50 ms, unless it has waited
// for maxWait.
func wantBlocked(t *testing.T, replied chan time.Duration) {
	t.Helper()
	select {
	case took := <-replied:
		if took < maxWait {
			t.Errorf("Apply returned after %v, before the write was visible to other nodes", took)
		}
	case <-time.After(50 * time.Millisecond): // no event shows that Apply does not return
	}
}

// On a node that cannot reach Redis, Apply returns once a worker has made the actions
// visible to other nodes. This holds even if workers persisted the previous action too
// late. Persisted actions are no longer pending, even while Redis is unavailable.
func TestCutOffNodeWaitsForTheWorker(t *testing.T) {
	t.Parallel()
	db := openDatabase(t)
	cut, other := cutOff(t, db)
	late := storagetest.React(alice, movie, storage.Like, 10)
	next := []storage.Action{storagetest.React(bob, movie, storage.Like, 11), storagetest.Collect(bob, movie, "", 11), read(bob, movie, 2)}
	<-applyAsync(t, cut, late)
	replied := applyAsync(t, cut, next...)
	await.That(t, "3 states are pending", func() bool { return cut.pending.Count() == 3 })
	wantBlocked(t, replied)
	persist(t, db, other, append(next, late)...)
	<-replied
	wantLikes(t, "after the reply, on another node", see(t, other, bob, movie), 2, true)
	await.That(t, "no write is pending", func() bool { return cut.pending.Count() == 0 })
	if cut.redis.Healthy() {
		t.Error("the node finds Redis available, want it still cut off")
	}
}

// If workers persist nothing at all, callers wait only briefly, and not every caller
// waits.
func TestCutOffNodeDoesNotWaitInVain(t *testing.T) {
	t.Parallel()
	s, _ := cutOff(t, openDatabase(t))
	version := int64(10)
	wait := func() time.Duration {
		version++
		return <-applyAsync(t, s, storagetest.React(alice, movie, storage.Like, version))
	}
	if took := wait(); took < maxWait {
		t.Errorf("Apply waited %v for a worker, want at least %v", took, maxWait)
	}
	await.That(t, "an action is applied without waiting", func() bool { return wait() < 100*time.Millisecond })
	if got := see(t, s, alice, movie); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("on the same node: got %+v, want 1 like, alice's", got)
	}
}

// underOneLease runs a scenario that must end before the lease of a node does, and then
// the checks that the scenario returns. If the lease has ended, it discards the run and
// begins another one.
func underOneLease(t *testing.T, scenario func() (node *Store, check func())) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; {
		node, check := scenario()
		if node.epochs.LeaseValid(node.epochs.Current()) {
			check()
			return
		}
	}
	t.Fatal("the lease has ended before the end of every run, for two minutes")
}

// After an epoch is closed, a node that has not polled since then still shows new actions
// from a node that has polled.
func TestNodesSeeConfirmedWritesBeforeTheirPoll(t *testing.T) {
	underOneLease(t, func() (*Store, func()) {
		first, server, db := openNew(t, Options{})
		first.stopBackground() // only the test polls
		other, _ := openWithoutPolls(t, server, db)
		_, err := db.CloseEpoch(t.Context(), first.epochs.Current().Number)
		must.Succeed(t, err)
		poll(t, first)
		if e := first.epochs.Active(); e != nil {
			t.Fatalf("Active() = epoch %d, want none after it was closed", e.Number)
		}
		if err := first.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil); !errors.Is(err, errNoActiveEpoch) {
			t.Errorf("Apply in a closed epoch: got %v, want %v", err, errNoActiveEpoch)
		}
		got := see(t, other, alice, movie)
		states, _ := getStates(t, other, alice, movie)
		return other, func() {
			wantLikes(t, "on a node that has not polled", got, 1, true)
			if states.Reaction.Version() != 10 {
				t.Errorf("on a node that has not polled: Get = %+v, want version 10", states)
			}
		}
	})
}

// rewoundDatabase is a database that can be rewound. After a rewind, it begins no epoch.
type rewoundDatabase struct {
	*sqlitetest.Database

	rewound atomic.Bool
}

func (d *rewoundDatabase) Epoch(ctx context.Context) (mirror.Epoch, error) {
	e, err := d.Database.Epoch(ctx)
	if d.rewound.Load() {
		e.Rewound, e.History = true, e.History+" and back"
	}
	return e, err
}

func (d *rewoundDatabase) NextEpoch(ctx context.Context, number int64, next mirror.NewEpoch) (mirror.Epoch, error) {
	if d.rewound.Load() {
		return mirror.Epoch{}, storage.ErrUnavailable
	}
	return d.Database.NextEpoch(ctx, number, next)
}

// After a database is rewound, a node that has not noticed the rewind still shows new
// actions from a node that has noticed it.
func TestNodesSeeConfirmedWritesBeforeNoticingARewind(t *testing.T) {
	underOneLease(t, func() (*Store, func()) {
		server, db := startServer(t), openDatabase(t)
		back := &rewoundDatabase{Database: db}
		first := open(t, Options{URL: server.url(), Database: back})
		first.stopBackground() // only the test polls
		other, _ := openWithoutPolls(t, server, db)
		back.rewound.Store(true)
		await.That(t, "the first node notices the rewind", func() bool {
			_ = first.epochs.Poll(t.Context()) // it cannot begin the next epoch
			return first.epochs.Active() == nil
		})
		_ = first.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil)
		got := see(t, other, alice, movie)
		return other, func() { wantLikes(t, "on a node that has not noticed", got, 1, true) }
	})
}
