package sqlitetest_test

import (
	"testing"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

func TestDatabase(t *testing.T) {
	storagetest.RunDatabase(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		path := sqlitetest.NewFile(t)
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				return sqlitetest.OpenDatabaseAt(t, path)
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				sqlitetest.Edit(t, path, statement)
			},
		}
	})
}
