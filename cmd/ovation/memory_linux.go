package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// protectMemory hides the secrets of this process from other processes of the same user,
// such as ffmpeg: /proc/PID/environ, its memory, and its open files. The kernel then also
// writes no core dump, and debuggers need to be root. Files that were open when the
// program was started are not passed on to ffmpeg.
//
// Executing a program undoes the protection; call protectMemory after setTimerSlack. The
// program works without it, for example on a kernel before 5.11, which cannot mark the
// open files.
func protectMemory() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}
