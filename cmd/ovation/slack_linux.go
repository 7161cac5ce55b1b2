package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// timerSlack is how late the kernel may wake a sleeping thread; 50 µs by default. Go's
// runtime has a thread that sleeps 20 µs at a time while anything runs. In a process
// that waits as often as it works, these wake-ups took 8 % of its time on a small
// machine shared with Postgres, Redis and RabbitMQ. The timers of this program are
// those of a millisecond and more.
const timerSlack = time.Millisecond

// The numbers of prctl(2).
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// setTimerSlack gives a command that goes on for long its timer slack. A
// thread inherits it from the thread that starts it, and the runtime starts its
// threads before main runs, so the program re-executes itself once, as the same
// process. If that is not allowed, everything works as well at a higher CPU cost.
func setTimerSlack(args []string) {
	if !longRunning(args) {
		return
	}
	runtime.LockOSThread() // the slack is that of the thread that executes the program
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
