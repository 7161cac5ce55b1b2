package redis

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/storagetest"
	"ovation/worker"
)

var _ worker.Mirror = (*Store)(nil)

func TestStore(t *testing.T) {
	server := startServer(t)
	runSuite(t, server.url())
}

func TestStoreOverPostgres(t *testing.T) {
	const variable = "OVATION_POSTGRES_URL"
	at := os.Getenv(variable)
	switch {
	case at == "" && os.Getenv("CI") != "":
		t.Fatal(variable + " is not set: run make test")
	case at == "":
		t.Skip(variable + " is not set: run make test")
	}
	server := startServer(t)
	storagetest.Run(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		schema, prefix := schemaOf(t, at), prefix()
		must(t, postgres.Migrate(t.Context(), schema))
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				db, err := postgres.Open(t.Context(), postgres.Options{URL: schema})
				must(t, err)
				return open(t, Options{URL: server.url(), Database: db, Prefix: prefix})
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				edit(t, schema, statement)
			},
		}
	})
}

// schemaOf makes a schema of the test's own and returns the URL of it.
func schemaOf(t *testing.T, at string) string {
	t.Helper()
	schema := "test_" + strings.ToLower(rand.Text())
	edit(t, at, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { edit(t, at, "DROP SCHEMA "+schema+" CASCADE") })
	u, err := url.Parse(at)
	must(t, err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

// edit runs a statement on a connection of its own.
func edit(t *testing.T, at, statement string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it is done when cleanup runs
	c, err := pgx.Connect(ctx, at)
	must(t, err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	must(t, err)
}

// runSuite runs the suite of package storage over SQLite behind Redis.
func runSuite(t *testing.T, url string) {
	t.Helper()
	storagetest.Run(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		path, prefix := filepath.Join(t.TempDir(), "ovation.db"), prefix()
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				return open(t, Options{URL: url, Database: openDatabaseAt(t, path), Prefix: prefix})
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
