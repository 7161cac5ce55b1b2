package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// timerSlack is how late the kernel may wake a sleeping thread; the default is 50 µs. Go's
// runtime has a thread that sleeps 20 µs at a time while anything runs. In a process that
// waits as often as it works, these wake-ups took 8 % of its time on a small machine shared
// with Postgres, Redis and RabbitMQ. This program needs no timers below a millisecond.
const timerSlack = time.Millisecond

// The numbers of the operations of prctl(2).
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// setTimerSlack sets the timer slack of a long-running command. A thread inherits the
// slack from the thread that starts it, and the runtime starts its threads before main
// runs, so the program re-executes itself once, as the same process. If that is not
// allowed, everything works at a higher CPU cost.
func setTimerSlack(args []string) {
	if !longRunning(args) {
		return
	}
	runtime.LockOSThread() // the program inherits the slack of the thread that calls Exec
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
