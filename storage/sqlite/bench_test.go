package sqlite

import (
	"path/filepath"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// open opens a store in a folder that is removed after the test.
func open(tb testing.TB) *Store {
	tb.Helper()
	return openAt(tb, filepath.Join(tb.TempDir(), "ovation.db"))
}

func openAt(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), Options{Path: path})
	must.Succeed(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return s
}

func BenchmarkPersist(b *testing.B) { storagetest.BenchmarkPersist(b, openStore) }

func BenchmarkInteractives(b *testing.B) { storagetest.BenchmarkInteractives(b, openStore) }

func openStore(tb testing.TB) storage.Store {
	tb.Helper()
	return open(tb)
}
