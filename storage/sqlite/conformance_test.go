package sqlite_test

import (
	"testing"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/storage/storagetest"
)

func TestStore(t *testing.T) { storagetest.Run(t, emptyDatabase) }

func TestEvents(t *testing.T) {
	storagetest.RunEvents(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		return databaseWith(t, storage.EventOptions{Log: storagetest.LogEvents})
	})
}

func TestTrends(t *testing.T) { storagetest.RunTrends(t, emptyDatabase) }

func emptyDatabase(t *testing.T) storagetest.Database {
	t.Helper()
	return databaseWith(t, storage.EventOptions{})
}

func databaseWith(t *testing.T, events storage.EventOptions) storagetest.Database {
	t.Helper()
	path := sqlitetest.NewFile(t)
	return storagetest.Database{
		Open: func(t *testing.T) storage.Store {
			t.Helper()
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Events: events})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Edit: func(t *testing.T, sql string) {
			t.Helper()
			sqlitetest.Edit(t, path, sql)
		},
		Dump: func(t *testing.T) string {
			t.Helper()
			return sqlitetest.Dump(t, path)
		},
	}
}
