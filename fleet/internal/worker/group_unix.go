//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// isolate makes a command the leader of a process group.
func isolate(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a command and its process group. Processes in other sessions end with it.
func killGroup(c *exec.Cmd) {
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
}
