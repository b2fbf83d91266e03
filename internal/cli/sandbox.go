package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell"
)

// sandbox is the box that commands of the session run in. What was read of a command holds in the environment that the
// reader of commands makes, and in no other.
func (s *session) sandbox(roots []string) builtin.Sandbox {
	return builtin.Sandbox{
		Mode:    s.settings.Tools.Sandbox,
		Environ: func(environ []string) []string { return shell.Environment(environ, roots...) },
	}
}

// sandboxRun lets a person try a box: a command with their own terminal.
func sandboxRun(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze sandbox run [--mode MODE] -- COMMAND [ARGUMENTS]")
	}
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return err
	}
	mode := sandbox.Workspace
	if o.boxMode != "" {
		mode = sandbox.Mode(o.boxMode)
	}
	environ := os.Environ()
	spec := sandbox.For(mode, []string{dir}, nil, environ, func(path string) bool {
		_, ok := names.Protected(path)
		return ok
	})
	out, err := proc.Here(ctx, env.Helper, proc.Command{Argv: words, Dir: dir, Env: environ, Sandbox: spec}, func(note string) {
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
