package redis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

var (
	alice = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	bob   = storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	movie = video("movie")
)

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}

func follow(u storage.User, s storage.Subject, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow, Following: true, Version: version}
}

func unfollow(u storage.User, s storage.Subject, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow, Version: version}
}

// read returns an action of kind storage.KindRead, with the current time as its version.
func read(u storage.User, s storage.Subject, times int64) storage.Action {
	now := storage.Micros(time.Now())
	return storage.Action{User: u, Subject: s, Kind: storage.KindRead, Times: times, First: now, Version: now}
}

var messages atomic.Int64

func message(actions ...storage.Action) []storage.Message {
	return []storage.Message{{ID: "m" + scripts.Text(messages.Add(1)), Actions: actions}}
}

// persist makes actions durable, as a worker does.
func persist(tb testing.TB, db storage.Persister, s *Store, actions ...storage.Action) {
	tb.Helper()
	var outcome storage.Outcome
	await.That(tb, "the actions are persisted", func() (done bool) { // Persist fails for a while after an epoch has ended
		var err error
		if outcome, err = db.Persist(context.Background(), message(actions...), s.Mark); !errors.Is(err, storage.ErrUnavailable) {
			must.Succeed(tb, err)
		}
		return err == nil
	})
	await.That(tb, "the counts are published", func() bool { // Publish fails if a call to Redis is too slow
		err := s.Publish(context.Background(), outcome)
		if !errors.Is(err, storage.ErrUnavailable) {
			must.Succeed(tb, err)
		}
		return err == nil
	})
}

// poll polls until a poll succeeds, since calls of a poll may be too slow for its timeouts.
func poll(tb testing.TB, s *Store) {
	tb.Helper()
	await.That(tb, "a poll succeeds", func() bool { return s.epochs.Poll(context.Background()) == nil })
}

// holdLease stops the polls of a store, and gives the store a lease that outlasts the
// test. From then on, the store does not notice that an epoch ends or that a connection is
// lost, and does not write pending actions to Redis.
func holdLease(s *Store) {
	s.stopBackground()
	s.epochs.Wait() // a poll that was stopped may still query a server
	e := *s.epochs.Current()
	e.LeasedAt = time.Now().Add(time.Hour)
	s.epochs.Adopt(&e)
}

// renewLease polls if the lease of a store has ended, as it does on a machine that is too
// busy for the polls in the background. It reports whether the poll has renewed the lease.
func renewLease(tb testing.TB, s *Store) bool {
	tb.Helper()
	if _, slow := s.opts.Database.(*slowPolls); slow || !s.redis.Healthy() || s.epochs.LeaseValid(s.epochs.Current()) {
		return false
	}
	tb.Log("the lease has ended: polling")
	return s.epochs.Poll(context.Background()) == nil && s.epochs.LeaseValid(s.epochs.Current())
}

// passBarrier passes a barrier, if one is due, as workers with an empty queue do.
func passBarrier(tb testing.TB, s *Store, db storage.Persister) {
	tb.Helper()
	number := s.Barrier()
	if number == 0 {
		return
	}
	barrier := storage.Message{ID: "barrier", Barrier: storage.Barrier{Number: number, Partitions: 1}}
	if _, err := db.Persist(context.Background(), []storage.Message{barrier}, nil); !errors.Is(err, storage.ErrUnavailable) {
		must.Succeed(tb, err)
	}
}

// see returns a subject as the viewer sees it.
func see(tb testing.TB, s *Store, viewer storage.User, subject storage.Subject) storage.Interactive {
	tb.Helper()
	got, err := s.Interactives(context.Background(), viewer, []storage.Subject{subject}, storage.AllKinds)
	must.Succeed(tb, err)
	if got[0].Freshness == storage.Stale && renewLease(tb, s) {
		got, err = s.Interactives(context.Background(), viewer, []storage.Subject{subject}, storage.AllKinds)
		must.Succeed(tb, err)
	}
	return got[0]
}

// awaitCached waits until the client's cache has the counts of subjects. Until Redis has
// invalidated them, the cache has the earlier result: that there are none, for example.
func awaitCached(tb testing.TB, s *Store, subjects ...storage.Subject) {
	tb.Helper()
	await.That(tb, "the client cache is invalidated", func() bool {
		counts, err := s.counts.Cached(context.Background(), s.epochs.Current().Keys, subjects)
		for i := range counts {
			if !counts[i].Known {
				return false
			}
		}
		return err == nil
	})
}

// countsInRedis reads a subject's counts from Redis, bypassing the caches of the store.
func countsInRedis(ctx context.Context, s *Store, of storage.Subject) (counts.Result, error) {
	out, err := s.counts.InRedis(ctx, s.epochs.Current().Keys, []storage.Subject{of})
	if err != nil {
		return counts.Result{}, err
	}
	return out[0], nil
}

// getStates returns a user's states on a subject, and where they are stored. It calls
// Get, as a recorder does.
func getStates(tb testing.TB, s *Store, u storage.User, subject storage.Subject) (storage.States, storage.Durability) {
	tb.Helper()
	got, where, err := s.Get(context.Background(), []storage.StateKey{{User: u, Subject: subject}}, window.KindSet)
	must.Succeed(tb, err)
	if where == "" && renewLease(tb, s) {
		got, where, err = s.Get(context.Background(), []storage.StateKey{{User: u, Subject: subject}}, window.KindSet)
		must.Succeed(tb, err)
	}
	return got[0], where
}

func wantLikes(tb testing.TB, what string, got storage.Interactive, likes int64, liked bool) {
	tb.Helper()
	if got.LikeCount != likes || (got.Liked != nil) != liked || got.Freshness != storage.Live {
		tb.Errorf("%s: got %d likes, liked %t, %s, want %d likes, liked %t, %s",
			what, got.LikeCount, got.Liked != nil, got.Freshness, likes, liked, storage.Live)
	}
}

// hooked is a database that runs hooks between reading and returning results. If fail is
// set, it is called before each read, and the read fails if fail returns an error. If
// epochsWork is set, this does not apply to reads of the epoch.
type hooked struct {
	*sqlitetest.Database

	counts     func()
	windows    func()
	states     func()
	reads      atomic.Int64
	fail       atomic.Pointer[func(context.Context) error]
	epochsWork atomic.Bool
}

func (h *hooked) Epoch(ctx context.Context) (mirror.Epoch, error) {
	if f := h.fail.Load(); f != nil && !h.epochsWork.Load() {
		if err := (*f)(ctx); err != nil {
			return mirror.Epoch{}, err
		}
	}
	return h.Database.Epoch(ctx)
}

func (h *hooked) injectedError(ctx context.Context) error {
	h.reads.Add(1)
	if f := h.fail.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func (h *hooked) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	if err := h.injectedError(ctx); err != nil {
		return nil, err
	}
	out, err := h.Database.Interactives(ctx, viewer, subjects, kinds)
	if h.counts != nil {
		h.counts()
	}
	return out, err
}

func (h *hooked) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	if err := h.injectedError(ctx); err != nil {
		return nil, err
	}
	out, err := h.Database.States(ctx, keys, kinds)
	if h.states != nil {
		h.states()
	}
	return out, err
}

func (h *hooked) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	if err := h.injectedError(ctx); err != nil {
		return nil, err
	}
	out, err := h.Database.Windows(ctx, keys, limit)
	if h.windows != nil {
		h.windows()
	}
	return out, err
}

// slowPolls is a database that answers polls only while its gate is not locked.
type slowPolls struct {
	*sqlitetest.Database

	gate sync.RWMutex
}

func (d *slowPolls) Epoch(ctx context.Context) (mirror.Epoch, error) {
	d.gate.RLock()
	defer d.gate.RUnlock()
	return d.Database.Epoch(ctx)
}

// openWithoutPolls opens a store that has polled once and does not poll again until
// resume is called or the test ends.
func openWithoutPolls(t *testing.T, server *server, db *sqlitetest.Database) (s *Store, resume func()) {
	t.Helper()
	slow := &slowPolls{Database: openAgain(t, db)}
	s = open(t, Options{URL: server.url(), Database: slow})
	wantLikes(t, "initially", see(t, s, alice, movie), 0, false)
	poll(t, s)
	slow.gate.Lock()
	resume = sync.OnceFunc(slow.gate.Unlock)
	t.Cleanup(resume)
	return s, resume
}

// openAgain opens the database once more, for a second node.
func openAgain(tb testing.TB, db *sqlitetest.Database) *sqlitetest.Database {
	tb.Helper()
	return sqlitetest.OpenDatabaseAt(tb, db.Path)
}
