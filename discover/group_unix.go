//go:build unix

package discover

import (
	"os/exec"
	"syscall"
	"time"
)

// killGrace is the time between TERM and KILL.
const killGrace = 100 * time.Millisecond

// ownGroup makes the command the leader of a process group of its own, so that all it starts can be ended with it.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// signalGroup sends a signal to all that is left of the command's group.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	if cmd.Process == nil {
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, sig)
}

func termGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// signalOf names the signal that ended the command, or is empty.
func signalOf(cmd *exec.Cmd) string {
	if cmd.ProcessState == nil {
		return ""
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
