package stdio

import (
	"os/exec"
	"time"
)

// KillGrace is the time between SIGTERM and SIGKILL.
const KillGrace = 100 * time.Millisecond

// OwnGroup does nothing: without a job object, Windows kills the command and not its child processes.
func OwnGroup(*exec.Cmd) {}

// TermGroup kills a command.
func TermGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// KillGroup kills a command.
func KillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		cmd.Process.Kill()
	}
}

// SignalOf returns "": Windows has no signals.
func SignalOf(*exec.Cmd) string { return "" }
