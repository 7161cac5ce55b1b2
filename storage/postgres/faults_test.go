package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// failInserts makes the insertion of every new message fail with the given error code.
func failInserts(tb testing.TB, at, code string) {
	tb.Helper()
	onMessage(tb, at, `RAISE EXCEPTION 'refused' USING ERRCODE = '`+code+`';`)
}

// onMessage makes the server run PL/pgSQL statements before it inserts a new message,
// until allowInserts is called.
func onMessage(tb testing.TB, at, statements string) {
	tb.Helper()
	postgrestest.Exec(tb, at, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+statements+` END $$`,
		`CREATE TRIGGER refuse BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

func allowInserts(tb testing.TB, at string) {
	tb.Helper()
	postgrestest.Exec(tb, at, `DROP TRIGGER IF EXISTS refuse ON inbox`)
}

func TestFailedCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	message := storagetest.NewTraffic().Message("message", 500)
	persist := func(ctx context.Context, s *Store, mark storage.Mark) error {
		_, err := s.Persist(ctx, []storage.Message{message}, mark)
		return err
	}
	code := func(code string) func(*testing.T, *Store, string) error {
		return func(t *testing.T, s *Store, at string) error {
			t.Helper()
			failInserts(t, at, code)
			return persist(t.Context(), s, nil)
		}
	}
	for name, c := range map[string]struct {
		fail func(t *testing.T, s *Store, at string) error // returns a failing call's error
		want error
		says string
	}{
		"the disk is full":          {code("53100"), storage.ErrUnavailable, "free some space"},
		"no memory":                 {code("53200"), storage.ErrUnavailable, "refused"},
		"the server stops":          {code("57P01"), storage.ErrUnavailable, "refused"},
		"no privilege":              {code("42501"), storage.ErrUnavailable, "grant"},
		"deadlocks without end":     {code("40P01"), storage.ErrUnavailable, "refused"},
		"an invalid value":          {code("22000"), nil, "refused"},
		"a read-only database":      {fail: failReadOnly(persist), want: storage.ErrUnavailable, says: "read-only: connect to the primary"},
		"another transaction locks": {fail: failLocked(persist), want: storage.ErrUnavailable, says: "lock_timeout"},
		"a statement takes too long": {func(t *testing.T, _ *Store, at string) error {
			t.Helper()
			onMessage(t, at, `PERFORM pg_sleep(60); RETURN NEW;`)
			limited := openAt(t, Options{URL: at})
			// The timeout is set on the connection that Persist then takes from the pool, and
			// not in the URL: on a busy machine, a statement of Open may take longer.
			c, err := limited.pool.Acquire(t.Context())
			must.Succeed(t, err)
			_, err = c.Exec(t.Context(), `SET statement_timeout = '100ms'`)
			c.Release()
			must.Succeed(t, err)
			return persist(t.Context(), limited, nil)
		}, storage.ErrUnavailable, "statement_timeout"},
		"the connection is lost": {func(t *testing.T, s *Store, at string) error {
			t.Helper()
			// The store's connection is identified by the table that its transaction
			// locks.
			terminate := `SELECT pg_terminate_backend(pid) FROM pg_locks
				WHERE relation = 'interactive'::regclass AND pid <> pg_backend_pid()`
			return persist(t.Context(), s, func(ctx context.Context, _ storage.Outcome) error {
				c, err := pgx.Connect(ctx, at)
				if err != nil {
					return err
				}
				defer c.Close(ctx)
				_, err = c.Exec(ctx, terminate)
				return err
			})
		}, storage.ErrUnavailable, ""},
		"the context ends while it writes": {func(t *testing.T, s *Store, at string) error {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			onMessage(t, at, `PERFORM pg_sleep(60); RETURN NEW;`)
			return persist(ctx, s, nil)
		}, context.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := postgrestest.Schema(t)
			s := openAt(t, Options{URL: at, Logger: slog.New(slog.DiscardHandler)})
			err := c.fail(t, s, at)
			t.Log(err)
			switch {
			case err == nil:
				t.Fatalf("got no error, want %v", c.want)
			case c.want != nil && !errors.Is(err, c.want), c.want == nil && errors.Is(err, storage.ErrUnavailable):
				t.Fatalf("got the error %v, want %v, or another than %v if that is nil", err, c.want, storage.ErrUnavailable)
			case !strings.Contains(err.Error(), c.says):
				t.Errorf("got the error %v, want it to contain %q", err, c.says)
			}
			allowInserts(t, at)
			seen, err := s.Seen(t.Context(), []string{"message"})
			if err != nil || seen[0] {
				t.Errorf("after the failure: Seen = %v, %v, want [false]", seen, err)
			}
			if err := persist(t.Context(), s, nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
			storagetest.CheckCounts(t, s)
		})
	}
}

type persistFunc = func(context.Context, *Store, storage.Mark) error

func failReadOnly(persist persistFunc) func(*testing.T, *Store, string) error {
	return func(t *testing.T, _ *Store, at string) error {
		t.Helper()
		return persist(t.Context(), openAt(t, Options{URL: withParameters(t, at, "default_transaction_read_only", "on")}), nil)
	}
}

func failLocked(persist persistFunc) func(*testing.T, *Store, string) error {
	return func(t *testing.T, _ *Store, at string) error {
		t.Helper()
		c, err := pgx.Connect(t.Context(), at)
		must.Succeed(t, err)
		defer c.Close(t.Context())
		if _, err := c.Exec(t.Context(), `BEGIN; LOCK TABLE user_read`); err != nil {
			t.Fatal(err)
		}
		return persist(t.Context(), openAt(t, Options{URL: withParameters(t, at, "lock_timeout", "100ms")}), nil)
	}
}

// TestAbortedTransactionsAreRetried checks that the store retries a transaction that the
// server aborted in favour of another transaction. The mark must be called only in the
// attempt that succeeds.
func TestAbortedTransactionsAreRetried(t *testing.T) {
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at, Logger: slog.New(slog.DiscardHandler)})
	postgrestest.Exec(t, at, `CREATE SEQUENCE tries`, // a sequence is not rolled back
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF nextval('tries') < 3 THEN RAISE EXCEPTION 'refused' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$`,
		`CREATE TRIGGER refuse AFTER INSERT ON interactive FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
	marks := 0
	_, err := s.Persist(t.Context(), []storage.Message{storagetest.NewTraffic().Message("1", 100)},
		func(context.Context, storage.Outcome) error {
			marks++
			return nil
		})
	if err != nil || marks != 1 {
		t.Errorf("Persist = %v after %d successful marks, want nil after 1", err, marks)
	}
	storagetest.CheckCounts(t, s)
}

func TestCountsAndStatesAreOfOneMoment(t *testing.T) {
	storagetest.CountsAndStatesAreOfOneMoment(t, open(t))
}

// TestTextsThatCannotBeStoredAreKeysOfNothing uses strings that Postgres cannot store as
// keys. A lookup by such a key must find nothing. A collection into a folder with such an
// id must go to the default folder.
func TestTextsThatCannotBeStoredAreKeysOfNothing(t *testing.T) {
	s := open(t)
	for i, text := range []string{"\x00", "\xff", "a\x00b"} {
		key := storage.FolderKey{Owner: alice, FolderID: text}
		subject := storage.Subject{Tenant: "default", Biz: "video", BizID: text}
		a := storage.Action{
			User: alice, Subject: movie, Kind: storage.KindCollection, FolderID: text, Version: int64(i + 1),
		}
		outcome, err := s.Persist(t.Context(), []storage.Message{{ID: fmt.Sprint(i), Actions: []storage.Action{a}}}, nil)
		if err != nil || outcome.Applied[0].FolderID != storage.DefaultFolderID {
			t.Errorf("Persist of a collection into %q = %+v, %v, want it in the default folder", text, outcome, err)
		}
		folders, err := s.FoldersOf(t.Context(), []storage.FolderKey{key})
		if err != nil || folders[0] != nil {
			t.Errorf("FoldersOf(%q) = %v, %v, want none", text, folders[0], err)
		}
		got, err := s.Interactives(t.Context(), alice, []storage.Subject{subject}, storage.AllKinds)
		if err != nil || got[0].Version != 0 {
			t.Errorf("Interactives(%q) = %v, %v, want version 0", text, got, err)
		}
		if seen, err := s.Seen(t.Context(), []string{text}); err != nil || seen[0] {
			t.Errorf("Seen(%q) = %v, %v, want [false]", text, seen, err)
		}
		name := "Films"
		_, renamed := s.UpdateFolder(t.Context(), key, storage.FolderChange{Name: &name}, time.Now())
		_, _, emptied := s.EmptyFolder(t.Context(), key, text+"2", time.Now(), 1, nil)
		for _, err := range []error{renamed, emptied, s.DeleteFolder(t.Context(), key, "", time.Now())} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("a change of the folder %q: got the error %v, want %v", text, err, storage.ErrNotFound)
			}
		}
	}
}

// TestAgesAreByTheClockOfTheDatabase checks that the database's clock decides how old a
// message is and whether it is old enough to be pruned.
func TestAgesAreByTheClockOfTheDatabase(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": storage.InboxAge / 3, "behind": -storage.InboxAge / 3} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, Options{URL: postgrestest.Schema(t), Now: func() time.Time { return time.Now().Add(off) }})
			persist := func(id string, age time.Duration) storage.Outcome {
				a := storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 1, First: 1, Version: 1}
				m := storage.Message{ID: id, Actions: []storage.Action{a}, Published: storage.Micros(time.Now().Add(-age))}
				outcome, err := s.Persist(t.Context(), []storage.Message{m}, nil)
				must.Succeed(t, err)
				return outcome
			}
			if got := persist("young", storage.MaxMessageAge-time.Minute); len(got.Expired) > 0 {
				t.Errorf("a message a minute too young to expire: got %v expired, want none", got.Expired)
			}
			if got := persist("old", storage.MaxMessageAge+time.Minute); len(got.Expired) != 1 {
				t.Errorf("a message a minute too old: got %v expired, want it", got.Expired)
			}
			if n, err := s.Prune(t.Context(), time.Hour); n != 0 || err != nil {
				t.Errorf("Prune(1h) = %d, %v, want 0", n, err)
			}
			if n, err := s.Prune(t.Context(), -time.Hour); n != 1 || err != nil {
				t.Errorf("Prune(-1h) = %d, %v, want 1", n, err)
			}
		})
	}
}
