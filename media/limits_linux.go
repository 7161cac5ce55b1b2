package media

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dropPrivileges takes all capabilities from the calling thread and the programs that it
// starts, also if their user is root. Root without capabilities cannot read the memory of
// another process of root that is not dumpable, nor files of other users.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // otherwise root would regain them
		return os.NewSyscallError("prctl", err)
	}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]))
}

// isolate gives a command its own session without a terminal, whose process group is
// killed as a whole when the command is cancelled. The command is also killed when this
// process ends.
func isolate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
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
