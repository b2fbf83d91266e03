package stdio

import (
	"os/exec"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/jobobject"
)

// KillGrace is the time between SIGTERM and SIGKILL.
const KillGrace = 100 * time.Millisecond

// Group is a command with its child processes, in a job object.
type Group struct {
	cmd *exec.Cmd
	job *jobobject.Job
}

// NewGroup prepares a command to start as a group.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	job, err := jobobject.Open()
	cmd.SysProcAttr = jobobject.Attributes()
	return &Group{cmd, job}, err
}

// Start starts the command.
func (g *Group) Start() error {
	err := g.cmd.Start()
	if err == nil {
		if err = g.job.Adopt(g.cmd.Process); err != nil {
			g.cmd.Wait()
		}
	}
	if err != nil {
		g.job.Close()
	}
	return err
}

// Term kills the group: Windows has no signal that asks all programs to exit.
func (g *Group) Term() error { return g.job.Kill() }

// Kill kills the group, for the last time.
func (g *Group) Kill() { g.job.Close() }

// Signal returns "": Windows has no signals.
func (g *Group) Signal() string { return "" }
