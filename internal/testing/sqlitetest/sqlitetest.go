// Package sqlitetest opens SQLite stores for tests. Only tests import it.
package sqlitetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ovation/storage/sqlite"
)

// Open opens an empty store that is closed when the test ends. The file is a copy of a
// database that already has its tables. Opening a new database would take much longer,
// most of all under the race detector, because it runs every migration.
func Open(tb testing.TB) *sqlite.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), sqlite.Options{Path: NewFile(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return store
}

// templateFile returns the contents of the file of an empty database.
var templateFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "ovation-template-")
	if err != nil {
		return nil, fmt.Errorf("create a template of the database: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "ovation.db")
	store, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
