package redis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/internal/breaker"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/postgres"
	"ovation/storage/redis/internal/window"
)

// openPostgres opens an empty Postgres database. It also returns the URL of the database.
func openPostgres(t *testing.T) (db *postgres.Store, at string) {
	t.Helper()
	at = postgrestest.Schema(t)
	db, err := postgres.Open(t.Context(), postgres.Options{URL: at, Logger: quiet})
	must.Succeed(t, err)
	return db, at
}

// lock locks a table, or several tables separated by commas, so that nothing else can use
// them until unlock is called.
func lock(t *testing.T, at, table string) (unlock func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, at)
	must.Succeed(t, err)
	_, err = c.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	must.Succeed(t, err)
	unlock = sync.OnceFunc(func() { _ = c.Close(ctx) })
	t.Cleanup(unlock)
	return unlock
}

// List queries that hang occupy only the slots for list queries. Reads by key continue.
func TestHangingListsLeaveReadsTheirSlots(t *testing.T) {
	db, at := openPostgres(t)
	s := open(t, Options{URL: startServer(t).url(), Database: db, ListTimeout: time.Minute, DatabaseTimeout: time.Minute})
	awaitLive(t, s)
	unlock := lock(t, at, "folder")
	var lists sync.WaitGroup
	for range 2 * cap(s.reads.Slots) {
		lists.Go(func() {
			_, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}})
			if err != nil && !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("ListFolders: got %v, want nil or %v", err, storage.ErrUnavailable)
			}
		})
	}
	await.That(t, "every slot of lists is used", func() bool { return len(s.lists.Slots) == cap(s.lists.Slots) })
	got, err := s.Interactives(t.Context(), bob, []storage.Subject{video("cold")}, window.KindSet)
	if err != nil || got[0].Freshness != storage.Live {
		t.Errorf("a read by key beside lists that hang: got %+v, %v, want %s", got, err, storage.Live)
	}
	if used := len(s.lists.Slots); used < cap(s.lists.Slots) {
		t.Errorf("lists use %d slots, want all %d: otherwise the test proves nothing", used, cap(s.lists.Slots))
	}
	unlock()
	lists.Wait()
	if _, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}}); err != nil {
		t.Errorf("ListFolders of a table that is not locked: %v", err)
	}
}

// A list query that takes too long is cancelled. It does not count as a failure of the
// database, and reads by key continue.
func TestListsHaveTheirOwnTimeout(t *testing.T) {
	db, at := openPostgres(t)
	s := open(t, Options{URL: startServer(t).url(), Database: db, ListTimeout: short / 5, DatabaseTimeout: time.Minute})
	awaitLive(t, s)
	lock(t, at, "folder")
	for range 2 * breaker.MinFailures {
		_, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}})
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("ListFolders of a locked table: got %v, want %v", err, storage.ErrUnavailable)
		}
	}
	if n := s.database.Failures(); n > 0 {
		t.Errorf("lists that took too long count as %d failures of the database, want 0", n)
	}
	got, err := s.Interactives(t.Context(), bob, []storage.Subject{video("cold")}, window.KindSet)
	if err != nil || got[0].Freshness != storage.Live {
		t.Errorf("a read by key beside lists that hang: got %+v, %v, want %s", got, err, storage.Live)
	}
}

// countingDatabase counts the reads by key that reach a database.
type countingDatabase struct {
	mirror.Database

	reads atomic.Int64
}

func (a *countingDatabase) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	a.reads.Add(1)
	return a.Database.Interactives(ctx, viewer, subjects, kinds)
}

func (a *countingDatabase) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	a.reads.Add(1)
	return a.Database.States(ctx, keys, kinds)
}

func (a *countingDatabase) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	a.reads.Add(1)
	return a.Database.Windows(ctx, keys, limit)
}

// If the database hangs, a call that needs several reads waits for only one read. It then
// returns what is known without the database.
func TestACallWaitsOnceForADatabaseThatHangs(t *testing.T) {
	behind, at := openPostgres(t)
	db := &countingDatabase{Database: behind}
	s := open(t, Options{URL: startServer(t).url(), Database: db, DatabaseTimeout: short})
	awaitLive(t, s)
	unlock := lock(t, at, "interactive, user_reaction, user_collection, user_read")
	for _, cold := range []string{"a", "b"} {
		db.reads.Store(0)
		viewer := storage.User{Tenant: movie.Tenant, UserID: cold}
		got, err := s.Interactives(t.Context(), viewer, []storage.Subject{movie, video(cold)}, storage.AllKinds)
		if err != nil || got[1].Freshness != storage.Unavailable {
			t.Errorf("got %+v, %v, want the second subject %s", got, err, storage.Unavailable)
		}
		if n := db.reads.Load(); n > 1 {
			t.Errorf("a call has asked a database that hangs %d times, want at most once", n)
		}
	}
	unlock()
	awaitLive(t, s)
}
