package stdio

import (
	"os/exec"
	"time"
)

// KillGrace is the time between TERM and KILL.
const KillGrace = 100 * time.Millisecond

// OwnGroup does nothing: without a job object Windows ends the command itself and not what it started.
func OwnGroup(*exec.Cmd) {}

// TermGroup asks a command and all that it started to exit.
func TermGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// KillGroup kills a command and all that it started.
func KillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		cmd.Process.Kill()
	}
}

// SignalOf names the signal that ended the command: there are none.
func SignalOf(*exec.Cmd) string { return "" }
