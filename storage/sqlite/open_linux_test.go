package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// asNobody gives up the file permissions of root until the test ends, if the test runs as
// root. Permissions belong to a thread, so asNobody locks the test to its thread.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	must.Succeed(t, syscall.Setfsuid(nobody))
	t.Cleanup(func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Errorf("become root again: %v", err)
		}
		runtime.UnlockOSThread()
	})
}

func TestOpenErrorNamesTheReadOnlyPath(t *testing.T) {
	for name, c := range map[string]struct {
		file, folder os.FileMode
		missing      bool
	}{
		"the file":                    {file: 0o444, folder: 0o777},
		"the folder of a new file":    {folder: 0o555, missing: true},
		"the folder of an older file": {file: 0o666, folder: 0o555},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			must.Succeed(t, os.Chmod(filepath.Dir(folder), 0o755)) // so that the user nobody may enter the folder
			path := filepath.Join(folder, "x.db")
			s := openAt(t, path)
			must.Succeed(t, s.Close())
			if c.missing {
				must.Succeed(t, os.Remove(path))
			} else if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			must.Succeed(t, os.Chmod(folder, c.folder))
			t.Cleanup(func() { _ = os.Chmod(folder, 0o700) }) // so that it can be removed
			asNobody(t)
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				_ = s.Close()
				t.Fatalf("Open: got no error, want %v with %s", storage.ErrUnavailable, path)
			}
			t.Log(err)
			if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open = %v, want %v with %s", err, storage.ErrUnavailable, path)
			}
		})
	}
}
