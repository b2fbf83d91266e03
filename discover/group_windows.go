package discover

import (
	"os/exec"
	"time"
)

const killGrace = 100 * time.Millisecond

// ownGroup does nothing: without a job object Windows ends the command itself and not what it started.
func ownGroup(*exec.Cmd) {}

func termGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		cmd.Process.Kill()
	}
}

func signalOf(*exec.Cmd) string { return "" }
