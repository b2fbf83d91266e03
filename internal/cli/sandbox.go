package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/workspace/names"
)

// sandboxRun runs a command in a sandbox with the user's settings and terminal.
func sandboxRun(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze sandbox run [--mode MODE] [--backend NAME] -- COMMAND [ARGUMENTS]")
	}
	folder, err := workingFolder(env, o)
	if err != nil {
		return err
	}
	set, _, err := folder.Settings(settingFlags(o)...)
	if err != nil {
		return err
	}
	mode := sandbox.Workspace
	environ := os.Environ()
	switch o.tryMode {
	case "":
	case string(sandbox.Trial):
		return trialRun(ctx, env, o, folder, proc.Command{Argv: words, Dir: folder.Path, Env: environ}, folder.SandboxWrite(set.Tools))
	default:
		if mode, err = sandbox.ParseMode(o.tryMode); err != nil {
			return usagef("--mode: %v", err)
		}
	}
	spec := sandbox.For(mode, []string{folder.Path}, folder.SandboxWrite(set.Tools), environ, func(path string) bool {
		_, ok := names.Protected(path)
		return ok
	})
	spec.UnixSockets, spec.Bubblewrap = set.Tools.SandboxUnixSockets, set.Tools.SandboxBackend == session.Bubblewrap
	// What is typed is for the command to answer, and does not end it here.
	out, err := proc.Here(context.WithoutCancel(ctx), env.Helper, proc.Command{Argv: words, Dir: folder.Path, Env: environ, Sandbox: spec}, env.tell)
	if errors.Is(err, exec.ErrNotFound) {
		return exitf(127, "%v", err) // as shells have it
	}
	if err != nil {
		return err
	}
	if out.Signal != 0 {
		return exitf(128+int(out.Signal), "")
	}
	return exitf(out.Exit, "")
}
