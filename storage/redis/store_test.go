package redis

import (
	"testing"

	"ovation/internal/testing/postgrestest"
	"ovation/internal/testing/redistest"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/storagetest"
	"ovation/worker"
)

var _ worker.Mirror = (*Store)(nil)

func TestStore(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	runSuite(t, server.url(), storagetest.RunStates)
}

func TestStoreOverPostgres(t *testing.T) {
	t.Parallel()
	storeOverPostgres(t, storagetest.RunStates)
}

// suite is a function of package storagetest.
type suite func(*testing.T, func(*testing.T) storagetest.Database)

func storeOverPostgres(t *testing.T, run suite) {
	t.Helper()
	server := startServer(t)
	run(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		schema, prefix := postgrestest.Schema(t), prefix()
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				db, err := postgres.Open(t.Context(), postgres.Options{URL: schema})
				must(t, err)
				s := open(t, Options{URL: server.url(), Database: db, Prefix: prefix})
				holdLease(s) // no epoch ends in a suite
				return s
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				postgrestest.Exec(t, schema, statement)
			},
			Dump: func(t *testing.T) string {
				t.Helper()
				return postgrestest.Dump(t, schema) + redistest.Dump(t, server.url(), prefix)
			},
		}
	})
}

// runSuite runs a suite on a store that mirrors SQLite in Redis.
func runSuite(t *testing.T, url string, run suite) {
	t.Helper()
	run(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		path, prefix := sqlitetest.NewFile(t), prefix()
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				s := open(t, Options{URL: url, Database: sqlitetest.OpenDatabaseAt(t, path), Prefix: prefix})
				holdLease(s) // no epoch ends in a suite
				return s
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				sqlitetest.Edit(t, path, statement)
			},
			Dump: func(t *testing.T) string {
				t.Helper()
				return sqlitetest.Dump(t, path) + redistest.Dump(t, url, prefix)
			},
		}
	})
}
