package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// TestThreadsHaveTimerSlack checks that all threads of a long-running command have the
// timer slack timerSlack, and that the command's process has the program's name.
func TestThreadsHaveTimerSlack(t *testing.T) {
	s := serveBinary(t, t.TempDir())
	s.like(t, "alice", "1")
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.pid))
	must.Succeed(t, err)
	if len(threads) < 2 {
		t.Fatalf("the process has the threads %v, want at least 2", threads)
	}
	for _, thread := range threads {
		slack, err := os.ReadFile(filepath.Join("/proc", filepath.Base(thread), "timerslack_ns"))
		if os.IsNotExist(err) {
			continue // it has ended
		}
		if os.IsPermission(err) && os.Geteuid() != 0 {
			t.Skip("only root can inspect the threads of a process that protects its memory")
		}
		must.Succeed(t, err)
		if got, err := strconv.Atoi(strings.TrimSpace(string(slack))); err != nil || time.Duration(got) != timerSlack {
			t.Errorf("a thread's slack is %q ns, want %v", slack, timerSlack)
		}
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid))
	must.Succeed(t, err)
	if got := strings.TrimSpace(string(name)); got != filepath.Base(binary) {
		t.Errorf("the process is called %q, want %q", got, filepath.Base(binary))
	}
}
