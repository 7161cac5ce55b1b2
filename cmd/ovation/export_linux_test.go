//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ovation/internal/testing/must"
)

// TestExportsToFullDisksLeaveNothing exports to a disk that is too small. The file that has
// the name already must stay as it is, beside nothing else.
func TestExportsToFullDisksLeaveNothing(t *testing.T) {
	t.Parallel()
	data, _ := populated(t)
	disk := t.TempDir()
	err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=65536,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("only root may mount the small disk of this test")
	}
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	file := filepath.Join(disk, "all.ndjson")
	must.Succeed(t, os.WriteFile(file, []byte("before"), 0o600))
	call(t, environment(), "export", "--data="+data, "--out="+file).want(t, exitFailed, "the disk is full; nothing was written to "+file)
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "before" {
		t.Errorf("the file holds %q, %v, want what it held before", text, err)
	}
	entries, err := os.ReadDir(disk)
	if err != nil || len(entries) != 1 {
		t.Errorf("the disk holds %v, %v, want only the file from before", entries, err)
	}
}
