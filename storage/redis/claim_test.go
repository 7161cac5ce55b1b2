package redis

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/storagetest"
)

// A process that joins a site with another Redis or another prefix reads from the
// database and marks nothing. It takes over once no process uses the previous mirror.
func TestForeignProcessWaitsUntilTheMirrorIsFree(t *testing.T) {
	t.Parallel()
	before, after := startServer(t), startServer(t)
	for name, options := range map[string]Options{
		"another Redis": {URL: after.url()}, "another prefix": {URL: before.url(), Prefix: prefix()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openDatabase(t)
			ours := Options{URL: before.url(), Database: db, Prefix: prefix()}
			s := open(t, ours)
			persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
			begun := s.epochs.Current().Number
			log := new(logBuffer)
			options.Database, options.Logger = openAgain(t, db), slog.New(slog.NewTextHandler(log, nil))
			other := open(t, options)
			if err := other.Foreign(); !errors.Is(err, epochs.ErrForeignMirror) || !strings.Contains(err.Error(), ours.Prefix) {
				t.Errorf("Foreign() of the other process = %v, want %v that names %s", err, epochs.ErrForeignMirror, ours.Prefix)
			}
			for range 20 { // in addition to the polls that both processes make in the background
				poll(t, other)
				poll(t, s)
			}
			if e, err := db.Epoch(t.Context()); err != nil || e.Number != begun || !e.Open {
				t.Errorf("with a foreign process: Epoch() = %+v, %v, want still %d, open", e, err, begun)
			}
			if got := see(t, other, alice, movie); got.LikeCount != 1 || got.Freshness != storage.Stale {
				t.Errorf("a foreign process reads %+v, want 1 like, %s", got, storage.Stale)
			}
			if _, err := other.opts.Database.Persist(t.Context(), message(storagetest.React(bob, movie, storage.Like, 10)), other.Mark); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("Persist of a foreign process, which cannot mark: got %v, want %v", err, storage.ErrUnavailable)
			}
			persist(t, db, s, storagetest.React(bob, movie, storage.Like, 10))
			wantLikes(t, "with a foreign process", see(t, s, alice, movie), 2, true)
			if said := log.linesWith("belongs to other processes"); len(said) != 1 {
				t.Errorf("got the log lines %q, want one", said)
			}

			s.stopBackground() // as if the process of s had ended; the database stays open
			await.That(t, "the other process takes over", func() bool { return other.Foreign() == nil && awaitLive(t, other).LikeCount == 2 })
			persist(t, db, other, storagetest.React(alice, movie, storage.Dislike, 20))
			if got := awaitLive(t, other); got.LikeCount != 1 || got.DislikeCount != 1 {
				t.Errorf("after the takeover: got %+v, want 1 like, 1 dislike", got)
			}
			poll(t, s) // as if the process of s resumed late
			if err := s.Foreign(); !errors.Is(err, epochs.ErrForeignMirror) {
				t.Errorf("Foreign() of the earlier process = %v, want %v", err, epochs.ErrForeignMirror)
			}
		})
	}
}

// A passive store, as used by short-lived commands, begins no epoch. Opening one fails if
// other processes use another mirror.
func TestPassiveStoreTakesNoPartInEpochs(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), openDatabase(t)
	ours := prefix()
	passive := func(prefix string) (*Store, error) {
		return Open(t.Context(), Options{
			URL: server.url(), Database: openAgain(t, db), Prefix: prefix, Passive: true, Logger: quiet, RedisTimeout: 10 * time.Second,
		})
	}
	epochIs := func(when string, number int64, isOpen bool) {
		t.Helper()
		if e, err := db.Epoch(t.Context()); err != nil || e.Number != number || e.Open != isOpen {
			t.Errorf("%s: Epoch() = %+v, %v, want %d, open: %t", when, e, err, number, isOpen)
		}
	}
	first, err := passive(ours)
	must.Succeed(t, err)
	persist(t, db, first, storagetest.React(alice, movie, storage.Like, 10))
	must.Succeed(t, first.Close())
	epochIs("before any epoch was begun", 1, false)

	s := open(t, Options{URL: server.url(), Database: db, Prefix: ours})
	wantLikes(t, "initially", see(t, s, alice, movie), 1, true)
	number := s.epochs.Current().Number
	same, err := passive(ours)
	must.Succeed(t, err)
	persist(t, db, same, storagetest.React(bob, movie, storage.Like, 10))
	wantLikes(t, "beside the processes of the mirror", see(t, s, alice, movie), 2, true)
	must.Succeed(t, same.Close())
	if _, err := passive(prefix()); !errors.Is(err, epochs.ErrForeignMirror) || !strings.Contains(err.Error(), ours) {
		t.Errorf("Open with another prefix: got %v, want %v that names %s", err, epochs.ErrForeignMirror, ours)
	}
	epochIs("after another was refused", number, true)

	s.stopBackground() // all processes have ended
	last, err := passive(prefix())
	must.Succeed(t, err)
	epochIs("after another process has taken over the unused mirror", number, false)
	persist(t, db, last, storagetest.React(alice, movie, storage.NoReaction, 20))
	must.Succeed(t, last.Close())
	next := open(t, Options{URL: server.url(), Database: openAgain(t, db), Prefix: ours})
	if got := awaitLive(t, next); got.LikeCount != 1 || got.Liked != nil {
		t.Errorf("final result: got %+v, want 1 like, not alice's", got)
	}
}

// If all processes of a mirror have stopped and its Redis has lost everything, the next
// process rebuilds the mirror.
func TestMirrorIsRebuiltAfterTotalLoss(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	s.stopBackground()
	server.kill()
	server.start()
	next := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	if got := awaitLive(t, next); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("final result: got %+v, want 1 like, alice's", got)
	}
}

// A new database is not served from the mirror of a previous database, even if Redis
// still holds that mirror.
func TestNewDatabaseFindsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	server, before := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: before})
	wantLikes(t, "initially", see(t, s, alice, movie), 0, false)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	wantLikes(t, "the one before", see(t, s, alice, movie), 1, true)
	must.Succeed(t, s.Close())
	wantLikes(t, "the new one", see(t, open(t, Options{URL: server.url(), Database: openDatabase(t)}), alice, movie), 0, false)
}
