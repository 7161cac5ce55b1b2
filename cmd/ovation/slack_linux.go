package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// timerSlack is how late the kernel may wake a sleeping thread; the default is 50 µs.
// While any goroutine runs, a thread of Go's runtime repeatedly sleeps for 20 µs. In a
// process that waited half of the time, waking that thread took 8 % of the CPU time. This
// was measured on a small machine shared with Postgres, Redis and RabbitMQ. The program
// needs no timers below a millisecond.
const timerSlack = time.Millisecond

// Operations of prctl(2).
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// setTimerSlack sets the timer slack of a long-running command. A thread inherits the
// slack of the thread that starts it, and Go's runtime starts its threads before main
// runs. The program therefore sets the slack and re-executes itself once, as the same
// process. If this fails, the program works nevertheless, at a higher CPU cost.
func setTimerSlack(args []string) {
	if !longRunning(args) {
		return
	}
	runtime.LockOSThread() // the re-executed program inherits the slack of the thread that calls Exec
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
