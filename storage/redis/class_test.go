package redis

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/postgres"
)

// openPostgres opens an empty Postgres database and returns its URL, too.
func openPostgres(t *testing.T) (db *postgres.Store, at string) {
	t.Helper()
	server := os.Getenv("OVATION_POSTGRES_URL")
	switch {
	case server == "" && os.Getenv("CI") != "":
		t.Fatal("OVATION_POSTGRES_URL is not set: run make test")
	case server == "":
		t.Skip("OVATION_POSTGRES_URL is not set: run make test")
	}
	at = schemaOf(t, server)
	must(t, postgres.Migrate(t.Context(), at))
	db, err := postgres.Open(t.Context(), postgres.Options{URL: at, Logger: quiet})
	must(t, err)
	return db, at
}

// lock keeps everyone from a table until it is unlocked.
func lock(t *testing.T, at, table string) (unlock func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, at)
	must(t, err)
	_, err = c.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	must(t, err)
	unlock = sync.OnceFunc(func() { _ = c.Close(ctx) })
	t.Cleanup(unlock)
	return unlock
}

// Lists that hang use the slots of lists. Reads by key go on.
func TestHangingListsLeaveReadsTheirSlots(t *testing.T) {
	db, at := openPostgres(t)
	s := open(t, Options{URL: startServer(t).url(), Database: db, ListTimeout: time.Minute, DatabaseTimeout: time.Minute})
	live(t, s)
	unlock := lock(t, at, "folder")
	var lists sync.WaitGroup
	for range 2 * cap(s.reads.slots) {
		lists.Go(func() {
			_, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}})
			if err != nil && !errors.Is(err, storage.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	eventually(t, "every slot of lists is used", func() bool { return len(s.lists.slots) == cap(s.lists.slots) })
	got, err := s.Interactives(t.Context(), bob, []storage.Subject{video("cold")}, windowStates)
	if err != nil || got[0].Freshness != storage.Live {
		t.Errorf("a read by key beside lists that hang: %+v, %v", got, err)
	}
	if len(s.lists.slots) < cap(s.lists.slots) {
		t.Error("the lists do not hang: the case proves nothing")
	}
	unlock()
	lists.Wait()
	if _, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}}); err != nil {
		t.Errorf("a list that does not hang: %v", err)
	}
}

// A list that takes too long is given up. The database does not count as away:
// what is asked by key is answered.
func TestListsHaveATimeoutOfTheirOwn(t *testing.T) {
	db, at := openPostgres(t)
	s := open(t, Options{URL: startServer(t).url(), Database: db, ListTimeout: short / 5, DatabaseTimeout: time.Minute})
	live(t, s)
	lock(t, at, "folder")
	for range 2 * tripFailures {
		_, err := s.ListFolders(t.Context(), []storage.FoldersQuery{{Owner: alice, Page: storage.Page{First: 1}}})
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("a list that hangs: %v", err)
		}
	}
	if n := s.database.failed(); n > 0 {
		t.Errorf("lists that took too long count as %d failures of the database", n)
	}
	got, err := s.Interactives(t.Context(), bob, []storage.Subject{video("cold")}, windowStates)
	if err != nil || got[0].Freshness != storage.Live {
		t.Errorf("a read by key beside lists that hang: %+v, %v", got, err)
	}
}
