//go:build !linux

package media

import (
	"os/exec"
	"time"
)

// dropPrivileges does nothing: only Linux has capabilities.
func dropPrivileges() error { return nil }

// isolate only ensures that the command is killed when it is cancelled.
func isolate(command *exec.Cmd) {
	command.Cancel = func() error { return command.Process.Kill() }
}

// setLimits does nothing: only Linux can limit another process. The caller enforces the
// timeout.
func setLimits(int, uint64, time.Duration) error { return nil }
