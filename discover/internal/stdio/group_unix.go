//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
	"time"
)

// KillGrace is the time between TERM and KILL.
const KillGrace = 100 * time.Millisecond

// OwnGroup makes the command the leader of a process group of its own, so that all it starts can be ended with it.
func OwnGroup(cmd *exec.Cmd) {
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

// TermGroup asks a command and all that it started to exit.
func TermGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

// KillGroup kills a command and all that it started.
func KillGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// SignalOf names the signal that ended the command, or is empty.
func SignalOf(cmd *exec.Cmd) string {
	if cmd.ProcessState == nil {
		return ""
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
