package redis

import (
	"database/sql"
	"path/filepath"
	"testing"

	"ovation/storage"
	"ovation/storage/storagetest"
	"ovation/worker"
)

var _ worker.Mirror = (*Store)(nil)

func TestStore(t *testing.T) {
	server := startServer(t)
	runSuite(t, server.url())
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
