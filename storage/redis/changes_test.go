package redis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	hubs "ovation/live"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/live/livetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/postgres"
	"ovation/storage/storagetest"
)

// newHub returns a hub that reads from a store and is notified by it.
func newHub(tb testing.TB, s *Store) *hubs.Hub {
	tb.Helper()
	hub := hubs.New(s, hubs.Options{Logger: quiet})
	s.OnChange(hub.Changed, hub.ChangedAll, hub.Rewound)
	tb.Cleanup(hub.Close)
	return hub
}

// persistAs makes the actions of a message durable, as a worker does.
func persistAs(ctx context.Context, db Database, mirror *Store, message storage.Message) error {
	outcome, err := db.Persist(ctx, []storage.Message{message}, mirror.Mark)
	if err != nil {
		return err
	}
	return mirror.Publish(ctx, outcome)
}

// persistInTheEnd makes an action durable, as a worker does. It retries until it
// succeeds.
func persistInTheEnd(t *testing.T, db Database, mirror *Store, action storage.Action) {
	t.Helper()
	same := message(action)[0]
	await.That(t, "the action is persisted", func() bool {
		err := persistAs(t.Context(), db, mirror, same)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
}

func liveSite(t *testing.T, url string, nodeDB, workerDB Database) livetest.Site {
	t.Helper()
	prefix := prefix()
	node := open(t, Options{URL: url, Database: nodeDB, Prefix: prefix})
	worker := open(t, Options{URL: url, Database: workerDB, Prefix: prefix})
	return livetest.Site{Hub: newHub(t, node), Reader: node, Persist: func(message storage.Message) error {
		return persistAs(context.Background(), workerDB, worker, message)
	}}
}

func TestLiveCounts(t *testing.T) { liveOverSQLite(t, startServer(t).url()) }

func TestLiveCountsOverACluster(t *testing.T) {
	url, _ := startCluster(t)
	liveOverSQLite(t, url)
}

func liveOverSQLite(t *testing.T, url string) {
	t.Helper()
	livetest.Run(t, func(t *testing.T) livetest.Site {
		t.Helper()
		db := openDatabase(t)
		return liveSite(t, url, db, openAgain(t, db))
	})
}

func TestLiveCountsOverPostgres(t *testing.T) {
	server := startServer(t)
	livetest.Run(t, func(t *testing.T) livetest.Site {
		t.Helper()
		db, at := openPostgres(t)
		other, err := postgres.Open(t.Context(), postgres.Options{URL: at})
		must.Succeed(t, err)
		return liveSite(t, server.url(), db, other)
	})
}

// awaitEvent takes events of one subject until holds returns true, and fails the test if
// a version decreases before that.
func awaitEvent(t *testing.T, w *hubs.Watcher, what string, holds func(storage.Interactive) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	events := make([]*hubs.Event, 1)
	var got storage.Interactive
	for {
		if _, err := w.Next(ctx, events); err != nil {
			t.Fatalf("got no event with %s: %v; the latest has %+v, %s", what, err, got.Counts, got.Freshness)
		}
		before := got.Version
		if got = events[0].Interactive; got.Version < before {
			t.Fatalf("got version %d after version %d, want no older one", got.Version, before)
		}
		if holds(got) {
			return
		}
	}
}

// While Redis is unavailable, watchers still receive changed counts, as STALE. After
// Redis has recovered, the counts are LIVE again.
func TestWatchersContinueWithoutRedis(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]struct {
		away, back func(*server)
	}{
		"killed and restarted": {(*server).kill, (*server).start},
		"hanging for a while":  {(*server).hang, (*server).resume},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			node, server, db := openNew(t, Options{RedisTimeout: short})
			worker := open(t, Options{URL: server.url(), Database: openAgain(t, db), RedisTimeout: short})
			hub := newHub(t, node)
			w := hub.Watch([]storage.Subject{movie})
			defer w.Close()
			seen := func(likes int64, freshness storage.Freshness) func(storage.Interactive) bool {
				return func(got storage.Interactive) bool { return got.LikeCount == likes && got.Freshness == freshness }
			}
			awaitEvent(t, w, "no like, LIVE", seen(0, storage.Live))
			persist(t, db, worker, storagetest.React(alice, movie, storage.Like, 10))
			awaitEvent(t, w, "1 like, LIVE", seen(1, storage.Live))

			lose.away(server)
			awaitEvent(t, w, "1 like, STALE, while Redis is unavailable", seen(1, storage.Stale))
			persistInTheEnd(t, db, worker, storagetest.React(bob, movie, storage.Like, 20))
			awaitEvent(t, w, "2 likes, STALE, one persisted without Redis", seen(2, storage.Stale))

			lose.back(server)
			awaitEvent(t, w, "2 likes, LIVE, after Redis has recovered", seen(2, storage.Live))
			persist(t, db, worker, storagetest.React(alice, movie, storage.NoReaction, 30))
			awaitEvent(t, w, "1 like, LIVE, the other one withdrawn since", seen(1, storage.Live))
		})
	}
}

// Changes made while the connection is lost are delivered as soon as there is a new
// connection, long before a sweep.
func TestNothingIsLostWithAConnection(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]struct {
		how   func(*server)
		times int64
	}{
		"connections are killed": {func(s *server) { s.command("CLIENT", "KILL", "TYPE", "NORMAL") }, 20},
		"all keys are flushed":   {func(s *server) { s.command("FLUSHALL") }, 2}, // each flush begins an epoch
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			node, server, db := openNew(t, Options{})
			worker := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
			hub := hubs.New(node, hubs.Options{Logger: quiet, Sweep: time.Hour})
			defer hub.Close()
			node.OnChange(hub.Changed, hub.ChangedAll, hub.Rewound)
			w := hub.Watch([]storage.Subject{movie})
			defer w.Close()
			for i := range lose.times {
				awaitEvent(t, w, fmt.Sprintf("%d reads", i), func(got storage.Interactive) bool { return got.ReadCount == i })
				lose.how(server)
				action := storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 1, First: 100 + i, Version: 100 + i}
				persistInTheEnd(t, db, worker, action)
			}
		})
	}
}

// failedOver is a database that can fail over to a standby that lacks commits.
type failedOver struct {
	*sqlitetest.Database

	lost  atomic.Bool
	begun atomic.Bool // an epoch was begun after the failover
}

func (d *failedOver) afterFailover(e mirror.Epoch, err error) (mirror.Epoch, error) {
	e.History = "primary"
	if d.lost.Load() {
		e.History, e.Rewound = "standby", !d.begun.Load()
	}
	return e, err
}

func (d *failedOver) Epoch(ctx context.Context) (mirror.Epoch, error) {
	return d.afterFailover(d.Database.Epoch(ctx))
}

func (d *failedOver) RaiseBarrier(ctx context.Context) (mirror.Epoch, error) {
	return d.afterFailover(d.Database.RaiseBarrier(ctx))
}

func (d *failedOver) NextEpoch(ctx context.Context, number int64, next mirror.NewEpoch) (mirror.Epoch, error) {
	e, err := d.Database.NextEpoch(ctx, number, next)
	d.begun.Store(d.lost.Load() && err == nil)
	return d.afterFailover(e, err)
}

// After a failover that loses a like, both earlier and new watchers receive the counts
// without that like.
func TestStreamsContinueAfterAFailoverThatLostCommits(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), &failedOver{Database: openDatabase(t)}
	node := open(t, Options{URL: server.url(), Database: db})
	hub := newHub(t, node)
	early := hub.Watch([]storage.Subject{movie})
	defer early.Close()
	likes := func(n int64) func(storage.Interactive) bool {
		return func(got storage.Interactive) bool { return got.LikeCount == n && got.Freshness == storage.Live }
	}
	persist(t, db, node, storagetest.React(alice, movie, storage.Like, 10))
	persist(t, db, node, storagetest.React(bob, movie, storage.Like, 20))
	awaitEvent(t, early, "both likes", likes(2))

	db.Edit(t, "DELETE FROM user_reaction WHERE user_id = 'bob'")
	db.Edit(t, "UPDATE interactive SET like_count = 1, version = version - 1")
	db.lost.Store(true)
	await.That(t, "the next epoch has begun", func() bool { return db.begun.Load() && node.epochs.Active() != nil })
	late := hub.Watch([]storage.Subject{movie})
	defer late.Close()
	events := make([]*hubs.Event, 1)
	_, err := late.Next(t.Context(), events)
	must.Succeed(t, err)
	if got := events[0].LikeCount; got != 1 {
		t.Errorf("a new watcher receives %d likes, want 1", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for done := false; !done; done = likes(1)(events[0].Interactive) {
		if _, err := early.Next(ctx, events); err != nil {
			t.Fatalf("an earlier watcher receives no event with 1 like, LIVE: %v", err)
		}
	}
	persist(t, db, node, storagetest.React(bob, movie, storage.Like, 30))
	awaitEvent(t, early, "both likes again", likes(2))
	awaitEvent(t, late, "both likes again", likes(2))
}
