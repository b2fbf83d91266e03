package builtin

import (
	"context"
	"time"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// Helper is a helper process of this program that runs commands and stops all their child processes. See [Main].
type Helper proc.Helper

// Main is adze.Main for programs that import only this package.
func Main() Helper { return Helper(proc.Main()) }

// Sandbox selects the sandbox that commands run in.
type Sandbox = command.Sandbox

// ReadLimits are the files that auto-approved commands may read.
type ReadLimits = command.ReadLimits

// DeniedPath is a deny rule on paths.
type DeniedPath = command.DeniedPath

// Network is how sandboxed commands reach hosts.
type Network = command.Network

// KeptPath is a path that a tried command changed in the workspace.
type KeptPath = command.KeptPath

// Job is a background command, for the user.
type Job = command.Job

// Place is where commands run that were not approved.
type Place = command.Place

// The places.
const (
	PlaceOverlay  = command.PlaceOverlay
	PlaceReadOnly = command.PlaceReadOnly
	PlaceNone     = command.PlaceNone
)

func newShell(o Options, f *files) (*command.Shell, error) {
	return command.New(command.Options{
		Workspace: f.ws, Ignore: f.ignore, Values: f.values, Imagined: o.Imagined, State: o.State, Own: f.secrets.own,
		Helper: proc.Helper(o.Helper), Environ: o.Environ, PassEnv: o.PassEnv, Env: o.Env, Sandbox: o.Sandbox,
		Caches: f.left.makeCache, Kept: o.Kept, Output: o.Output, Ended: o.JobEnded, ContextNames: o.ContextNames,
		Hint: f.offer.hint,
	})
}

// Place returns where commands run that were not approved. It may take a moment the first time.
func (s *Set) Place() Place { return s.shell.Place() }

// NoOverlay returns why commands that were not approved don't run in an overlay; nil if they do.
func (s *Set) NoOverlay() error { return s.shell.NoOverlay() }

// DeniedByText describes, in sentences, the deny rules on paths that the kernel can't enforce, so that only paths in
// the text of commands count.
func (s *Set) DeniedByText() []string { return s.shell.DeniedByText() }

// Secrets returns the files of the workspace that commands must not read without approval, and whether the list is
// complete.
func (s *Set) Secrets() (paths []string, known bool) { return s.shell.Secrets() }

// ReadLimitsChanged must be called when results of [ReadLimits].Hide may have changed.
func (s *Set) ReadLimitsChanged() { s.shell.ReadLimitsChanged() }

// RunProgram runs a program of the user's settings in the project's directory, as approved commands run: in the same
// sandbox and environment, without a shell. It returns the output, shortened and masked; failure is how the program
// ended if it didn't succeed.
func (s *Set) RunProgram(ctx context.Context, argv []string, limit time.Duration) (output, failure string) {
	return s.shell.RunProgram(ctx, argv, limit)
}

// Jobs lists the background commands of the session, the oldest first.
func (s *Set) Jobs() []Job { return s.shell.Jobs() }

// JobOutput returns the end of a background command's output. It doesn't change what the model reads next.
func (s *Set) JobOutput(id string) (Job, string, error) { return s.shell.JobOutput(id) }

// StopJob stops a background command and its child processes.
func (s *Set) StopJob(id string) (Job, error) { return s.shell.StopJob(id) }
