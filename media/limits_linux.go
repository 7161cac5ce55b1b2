package media

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isolate gives a command its own process group, which is killed as a whole when the
// command is cancelled. The command is also killed when this process ends.
func isolate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return kill(command) }
}

func kill(command *exec.Cmd) error {
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// setLimits limits the memory and CPU time of a process, and prevents it from writing
// files. The process is already running, but it has only begun to load its libraries.
func setLimits(pid int, memory uint64, timeout time.Duration) error {
	seconds := uint64(timeout/time.Second) + 1
	for resource, most := range map[int]uint64{
		unix.RLIMIT_AS: memory, unix.RLIMIT_CPU: seconds, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		if err != nil && err != unix.ESRCH { // ESRCH: the process has already ended
			return os.NewSyscallError("prlimit", err)
		}
	}
	return nil
}
