package main

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// timerSlack is how late the kernel may wake who sleeps, 50 µs unless it is set.
// Go's runtime has a thread that sleeps 20 µs at a time while anything runs. In
// a process that waits as often as it works, waking it so often took 8 % of its
// time on a small machine shared with Postgres, Redis and RabbitMQ. Our own
// timers are those of a millisecond and more.
const timerSlack = time.Millisecond

// The numbers of prctl(2).
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// gatherSleeps gives a command that goes on for long its timer slack. Threads have
// theirs from the one that starts them, and the runtime's are there before any
// code of ours: so the program starts itself again, once, as the same process.
// Where that is not allowed, all works as well, only dearer.
func gatherSleeps(args []string) {
	if len(args) < 2 || !slices.Contains([]string{"dev", "serve", "work", "stack"}, args[1]) {
		return
	}
	runtime.LockOSThread() // what is set is the thread's that starts the program
	defer runtime.UnlockOSThread()
	slack, _, fault := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if fault != 0 || slack >= uintptr(timerSlack) {
		return
	}
	_, _, fault = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, uintptr(timerSlack), 0)
	if fault != 0 {
		return
	}
	if self, err := os.Executable(); err == nil {
		_ = syscall.Exec(self, args, os.Environ()) //nolint:gosec // it is this program
	}
}
