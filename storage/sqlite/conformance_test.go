package sqlite_test

import (
	"testing"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/storage/storagetest"
)

func TestStore(t *testing.T) { storagetest.Run(t, emptyDatabase) }

func emptyDatabase(t *testing.T) storagetest.Database {
	t.Helper()
	path := sqlitetest.NewFile(t)
	return storagetest.Database{
		Open: func(t *testing.T) storage.Store {
			t.Helper()
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
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
	}
}
