//go:build long

package redis

import (
	"testing"

	"ovation/internal/testing/redistest"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// TestLongStore runs the cases of TestStore, and those of the other methods, over SQLite and
// one server, with new seeds and more steps.
func TestLongStore(t *testing.T) {
	url := startServer(t).url()
	storagetest.RunOnce(t, func(t *testing.T) storagetest.Database {
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

// TestLongReactionsMergeInAnyOrder repeats the everyday test with new seeds and more cases.
func TestLongReactionsMergeInAnyOrder(t *testing.T) { TestReactionsMergeInAnyOrder(t) }
