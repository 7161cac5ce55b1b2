//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// smallDisk mounts a disk of size bytes for the server to write to, and returns the path
// of the disk.
func (s *ownServer) smallDisk(t *testing.T, size int) string {
	t.Helper()
	disk := filepath.Join(s.folder, "disk")
	must.Succeed(t, os.Mkdir(disk, 0o700))
	err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d,uid=%d,gid=%d,mode=0700", size, nobody, nobody))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("only root may mount the small disk of this test")
	}
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	return disk
}

// TestFullDiskIsUnavailableUntilThereIsRoom checks that a store on a full disk refuses
// messages and loses no acknowledged message. Once there is room again, the same store
// must accept messages.
func TestFullDiskIsUnavailableUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	disk := server.smallDisk(t, 32<<20)
	plain := server.url(t, "127.0.0.1")
	postgrestest.Exec(t, plain, `CREATE TABLESPACE small LOCATION '`+disk+`'`)
	at := withParameters(t, plain, "default_tablespace", "small")
	postgrestest.Migrate(t, at)
	s := openAt(t, Options{URL: at})

	ballast := filepath.Join(disk, "ballast")
	must.Succeed(t, os.WriteFile(ballast, make([]byte, 24<<20), 0o600))
	g, acknowledged := storagetest.NewTraffic(), 0
	persist := func(m storage.Message) error {
		_, err := s.Persist(t.Context(), []storage.Message{m}, nil)
		return err
	}
	var refused storage.Message
	for refused.ID == "" {
		m := g.Message(fmt.Sprint(acknowledged), 2000)
		err := persist(m)
		switch {
		case err == nil:
			acknowledged++
		case !errors.Is(err, storage.ErrUnavailable), !strings.Contains(err.Error(), "free some space"):
			t.Fatalf("Persist of message %d: got %v, want nil or %v that says %q", acknowledged, err, storage.ErrUnavailable, "free some space")
		default:
			t.Log(err)
			refused = m
		}
	}
	if err := persist(refused); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Persist while the disk is still full: got %v, want %v", err, storage.ErrUnavailable)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping with a full disk: %v", err)
	}
	seen, err := s.Seen(t.Context(), []string{"0", fmt.Sprint(acknowledged - 1), refused.ID})
	if err != nil || !seen[0] || !seen[1] || seen[2] {
		t.Errorf("Seen of the first, the last and the refused message = %v, %v, want [true true false]", seen, err)
	}
	storagetest.CheckCounts(t, s)

	must.Succeed(t, os.Remove(ballast))
	must.Succeed(t, persist(refused))
	if n := ask[int](t, at, `SELECT count(*)::int FROM inbox`); n != acknowledged+1 {
		t.Errorf("%d messages are stored, want %d", n, acknowledged+1)
	}
	storagetest.CheckCounts(t, s)
}
