//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
	"time"
)

// KillGrace is the time between SIGTERM and SIGKILL.
const KillGrace = 100 * time.Millisecond

// OwnGroup makes the command the leader of a new process group, so that its child processes can be stopped with it.
func OwnGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// signalGroup sends a signal to the command's process group.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	if cmd.Process == nil {
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, sig)
}

// TermGroup asks a command and its child processes to exit.
func TermGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

// KillGroup kills a command and its child processes.
func KillGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// SignalOf returns the name of the signal that killed the command, or "".
func SignalOf(cmd *exec.Cmd) string {
	if cmd.ProcessState == nil {
		return ""
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
