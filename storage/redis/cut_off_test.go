package redis

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
)

// cutOff opens two nodes on the same database: connections to Redis hang for the node
// cut, and work for the other node.
func cutOff(t *testing.T, db *sqlitetest.Database) (cut, other *Store) {
	t.Helper()
	server := startServer(t)
	to, err := url.Parse(server.url())
	must(t, err)
	link := startProxy(t, to.Host)
	cut = open(t, Options{URL: "redis://" + link.listener.Addr().String(), Database: db, RedisTimeout: short})
	other = open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wantLikes(t, "initially", see(t, other, alice, movie), 0, false)
	link.gate.Lock()
	t.Cleanup(sync.OnceFunc(link.gate.Unlock))
	eventually(t, "the node finds Redis unavailable", func() bool { see(t, cut, alice, movie); return !cut.redis.Healthy() })
	return cut, other
}

// applyAsync applies actions in the background, and returns a channel that is closed when
// Apply has returned.
func applyAsync(t *testing.T, s *Store, actions ...storage.Action) chan struct{} {
	t.Helper()
	replied := make(chan struct{})
	go func() {
		_ = s.Apply(t.Context(), actions, storage.Queued, nil)
		close(replied)
	}()
	return replied
}

// wantBlocked fails the test if the channel is closed within 50 ms.
func wantBlocked(t *testing.T, replied chan struct{}) {
	t.Helper()
	select {
	case <-replied:
		t.Error("Apply returned before the write was visible to other nodes")
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
	late := react(alice, movie, storage.Like, 10)
	next := []storage.Action{react(bob, movie, storage.Like, 11), collect(bob, movie, "", 11), read(bob, movie, 2)}
	<-applyAsync(t, cut, late)
	replied := applyAsync(t, cut, next...)
	wantBlocked(t, replied)
	if n := cut.pending.Count(); n != 3 {
		t.Errorf("got %d pending states, want 3", n)
	}
	persist(t, db, other, append(next, late)...)
	<-replied
	wantLikes(t, "after the reply, on another node", see(t, other, bob, movie), 2, true)
	eventually(t, "no write is pending", func() bool { return cut.pending.Count() == 0 })
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
		began := time.Now()
		<-applyAsync(t, s, react(alice, movie, storage.Like, version))
		return time.Since(began)
	}
	if took := wait(); took < 300*time.Millisecond {
		t.Errorf("Apply waited %v for a worker, want at least 300ms", took)
	}
	eventually(t, "an action is applied without waiting", func() bool { return wait() < 100*time.Millisecond })
	if got := see(t, s, alice, movie); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("on the same node: got %+v, want 1 like, alice's", got)
	}
}

// After an epoch is closed, a node that has not polled since then still shows new actions
// from a node that has polled.
func TestNodesSeeConfirmedWritesBeforeTheirPoll(t *testing.T) {
	first, server, db := openNew(t, Options{})
	other, _ := openWithoutPolls(t, server, db)
	_, err := db.CloseEpoch(t.Context(), first.epochs.Current().Number)
	must(t, err)
	must(t, first.epochs.Poll(t.Context()))
	if e := first.epochs.Active(); e != nil {
		t.Fatalf("Active() = epoch %d, want none after it was closed", e.Number)
	}
	if err := first.Apply(t.Context(), []storage.Action{react(alice, movie, storage.Like, 10)}, storage.Queued, nil); !errors.Is(err, errNoActiveEpoch) {
		t.Errorf("Apply in a closed epoch: got %v, want %v", err, errNoActiveEpoch)
	}
	wantLikes(t, "on a node that has not polled", see(t, other, alice, movie), 1, true)
	if states, _ := getStates(t, other, alice, movie); states.Reaction.Version() != 10 {
		t.Errorf("on a node that has not polled: Get = %+v, want version 10", states)
	}
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
	server, db := startServer(t), openDatabase(t)
	back := &rewoundDatabase{Database: db}
	first := open(t, Options{URL: server.url(), Database: back})
	other, _ := openWithoutPolls(t, server, db)
	back.rewound.Store(true)
	eventually(t, "the first node notices the rewind", func() bool {
		_ = first.epochs.Poll(t.Context()) // it cannot begin the next epoch
		return first.epochs.Active() == nil
	})
	_ = first.Apply(t.Context(), []storage.Action{react(alice, movie, storage.Like, 10)}, storage.Queued, nil)
	wantLikes(t, "on a node that has not noticed", see(t, other, alice, movie), 1, true)
}
