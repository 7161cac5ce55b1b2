package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"ovation/storage"
	"ovation/storage/storagetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killed); path != "" {
		fmt.Fprintln(os.Stderr, persistUntilKilled(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) { storagetest.Run(t, empty) }

func TestDatabase(t *testing.T) { storagetest.RunDatabase(t, empty) }

func empty(t *testing.T) storagetest.Database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ovation.db")
	return storagetest.Database{
		Open: func(t *testing.T) storage.Store {
			t.Helper()
			return openAt(t, path)
		},
		Edit: func(t *testing.T, sql string) {
			t.Helper()
			s := openAt(t, path)
			defer s.Close()
			if _, err := s.db.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		},
	}
}
