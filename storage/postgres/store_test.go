package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ovation/storage"
	"ovation/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverURL names the server that tests share.
func serverURL(tb testing.TB) string {
	tb.Helper()
	const variable = "OVATION_POSTGRES_URL"
	from := os.Getenv(variable)
	switch {
	case from == "" && os.Getenv("CI") != "":
		tb.Fatal(variable + " is not set: run make test")
	case from == "":
		tb.Skip(variable + " is not set: run make test")
	}
	return from
}

// with returns the URL with parameters set.
func with(tb testing.TB, from string, parameters ...string) string {
	tb.Helper()
	u, err := url.Parse(from)
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// emptySchema makes a schema of the test's own and returns the URL of it.
func emptySchema(tb testing.TB) string {
	tb.Helper()
	server := serverURL(tb)
	schema := "test_" + strings.ToLower(rand.Text())
	edit(tb, server, "CREATE SCHEMA "+schema)
	tb.Cleanup(func() { edit(tb, server, "DROP SCHEMA "+schema+" CASCADE") })
	return with(tb, server, "search_path", schema)
}

// database makes a schema with the tables in it.
func database(tb testing.TB) string {
	tb.Helper()
	at := emptySchema(tb)
	if err := Migrate(tb.Context(), at); err != nil {
		tb.Fatal(err)
	}
	return at
}

// edit runs statements on a connection of its own.
func edit(tb testing.TB, at string, statements ...string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context()) // it is done when cleanup runs
	c, err := pgx.Connect(ctx, at)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close(ctx)
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			tb.Fatalf("%v: %s", err, sql)
		}
	}
}

// ask returns what a query of one value answers.
func ask[T any](tb testing.TB, at, query string, args ...any) (value T) {
	tb.Helper()
	c, err := pgx.Connect(tb.Context(), at)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close(tb.Context())
	if err := c.QueryRow(tb.Context(), query, args...).Scan(&value); err != nil {
		tb.Fatalf("%v: %s", err, query)
	}
	return value
}

// open opens a store on a database of its own.
func open(tb testing.TB) *Store {
	tb.Helper()
	return openAt(tb, Options{URL: database(tb)})
}

func openAt(tb testing.TB, options Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// verified fails the test unless every count is right.
func verified(tb testing.TB, s *Store) {
	tb.Helper()
	n, err := s.Verify(tb.Context(), false, func(d storage.Difference) error { return fmt.Errorf("%+v", d) })
	if err != nil || n == 0 {
		tb.Errorf("%d counts compared, error %v", n, err)
	}
}

func TestStore(t *testing.T) { storagetest.Run(t, empty) }

func TestDatabase(t *testing.T) { storagetest.RunDatabase(t, empty) }

func empty(t *testing.T) storagetest.Database {
	t.Helper()
	at := database(t)
	return storagetest.Database{
		Open: func(t *testing.T) storage.Store {
			t.Helper()
			return openAt(t, Options{URL: at})
		},
		Edit: func(t *testing.T, sql string) {
			t.Helper()
			edit(t, at, sql)
		},
	}
}
