//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
	"time"
)

// KillGrace is the time between SIGTERM and SIGKILL.
const KillGrace = 100 * time.Millisecond

// Group is a command with its child processes, in a process group.
type Group struct{ cmd *exec.Cmd }

// NewGroup prepares a command to start as a group.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &Group{cmd}, nil
}

// Start starts the command.
func (g *Group) Start() error { return g.cmd.Start() }

func (g *Group) send(sig syscall.Signal) error {
	if g.cmd.Process == nil {
		return nil
	}
	return syscall.Kill(-g.cmd.Process.Pid, sig)
}

// Term asks the group to exit.
func (g *Group) Term() error { return g.send(syscall.SIGTERM) }

// Kill kills the group.
func (g *Group) Kill() { g.send(syscall.SIGKILL) }

// Signal returns the name of the signal that killed the command, or "".
func (g *Group) Signal() string {
	if g.cmd.ProcessState == nil {
		return ""
	}
	if ws, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
