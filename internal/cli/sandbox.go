package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell"
)

// sandbox is the box that commands of the session run in. What was read of a command holds in the environment that the
// reader of commands makes, and in no other.
func (s *session) sandbox(env Env, roots []string) builtin.Sandbox {
	t := s.settings.Tools
	return builtin.Sandbox{
		Mode: t.Sandbox, Write: sandboxWrite(env, s.dir, t), UnixSockets: t.SandboxUnixSockets, Bubblewrap: t.SandboxBackend == bubblewrap,
		Environ: func(environ []string) []string { return shell.Environment(environ, roots...) },
	}
}

// bubblewrap is the backend that is a program.
const bubblewrap = "bubblewrap"

// sandboxWrite are the paths that settings make writable in boxes.
func sandboxWrite(env Env, dir string, t settings.Tools) []string {
	var paths []string
	for _, e := range t.SandboxWrite {
		paths = append(paths, settled(env, dir, e.Text))
	}
	return paths
}

// sandboxReport is what a person's own settings make of the boxes, for doctor.
func sandboxReport(env Env, dir string, t settings.Tools) []string {
	lines := []string{"tools.sandbox is " + t.Sandbox + ", tools.sandboxBackend " + t.SandboxBackend}
	for _, path := range sandboxWrite(env, dir, t) {
		line := "commands in a workspace may also write to " + path
		if _, err := os.Stat(path); err != nil {
			line = "commands in a workspace could also write to " + path + ", which is not there: tools.sandboxWrite"
		}
		lines = append(lines, line)
	}
	if t.SandboxUnixSockets {
		lines = append(lines, "commands reach sockets that are files: tools.sandboxUnixSockets")
	}
	return lines
}

// sandboxRun lets a person try a box: a command with their own terminal, in a box as their settings make it.
func sandboxRun(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze sandbox run [--mode MODE] [--backend NAME] -- COMMAND [ARGUMENTS]")
	}
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return err
	}
	home, err := settings.Home(env.Getenv, env.Home)
	if err != nil {
		return err
	}
	set, _, err := loadSettings(env, settings.Sources{UserHome: env.Home, AdzeHome: home, Project: dir, Getenv: env.Getenv, Flags: settingFlags(o)})
	if err != nil {
		return err
	}
	mode := sandbox.Workspace
	if o.boxMode != "" {
		mode = sandbox.Mode(o.boxMode)
	}
	environ := os.Environ()
	spec := sandbox.For(mode, []string{dir}, sandboxWrite(env, dir, set.Tools), environ, func(path string) bool {
		_, ok := names.Protected(path)
		return ok
	})
	spec.UnixSockets, spec.Bubblewrap = set.Tools.SandboxUnixSockets, set.Tools.SandboxBackend == bubblewrap
	// What is typed is for the command to answer, and does not end it here.
	out, err := proc.Here(context.WithoutCancel(ctx), env.Helper, proc.Command{Argv: words, Dir: dir, Env: environ, Sandbox: spec}, func(note string) {
		fmt.Fprintf(env.Stderr, "adze: %s\n", note)
	})
	if err != nil {
		return err
	}
	if out.Signal != 0 {
		return exitf(128+int(out.Signal), "")
	}
	return exitf(out.Exit, "")
}
