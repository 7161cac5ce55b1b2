package postgres

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

var (
	alice = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	movie = storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// withParameters returns a URL with parameters added or replaced. The argument parameters
// holds alternating names and values.
func withParameters(tb testing.TB, from string, parameters ...string) string {
	tb.Helper()
	u, err := url.Parse(from)
	must.Succeed(tb, err)
	query := u.Query()
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// ask runs a query that returns one value.
func ask[T any](tb testing.TB, at, query string, args ...any) (value T) {
	tb.Helper()
	c, err := pgx.Connect(tb.Context(), at)
	must.Succeed(tb, err)
	defer c.Close(tb.Context())
	if err := c.QueryRow(tb.Context(), query, args...).Scan(&value); err != nil {
		tb.Fatalf("query %s: %v", query, err)
	}
	return value
}

// open opens a store in a schema of its own.
func open(tb testing.TB) *Store {
	tb.Helper()
	return openAt(tb, Options{URL: postgrestest.Schema(tb)})
}

func openAt(tb testing.TB, options Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), options)
	must.Succeed(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, emptyDatabase)
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	storagetest.RunDatabase(t, emptyDatabase)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	storagetest.RunEvents(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		return databaseWith(t, logEvents)
	})
}

func TestTrends(t *testing.T) {
	t.Parallel()
	storagetest.RunTrends(t, emptyDatabase)
}

func emptyDatabase(t *testing.T) storagetest.Database {
	t.Helper()
	return databaseWith(t, storage.EventOptions{})
}

func databaseWith(t *testing.T, events storage.EventOptions) storagetest.Database {
	t.Helper()
	at := postgrestest.Schema(t)
	return storagetest.Database{
		Open: func(t *testing.T) storage.Store {
			t.Helper()
			options := noticingDeadlocks(t, at)
			options.Events = events
			return openAt(t, options)
		},
		Edit: func(t *testing.T, sql string) {
			t.Helper()
			postgrestest.Exec(t, at, sql)
		},
		Dump: func(t *testing.T) string {
			t.Helper()
			return postgrestest.Dump(t, at)
		},
	}
}
