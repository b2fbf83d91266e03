package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// maxOutput bounds each output stream of a command.
const maxOutput = 1 << 20

// errTooMuch stops a command that prints more.
var errTooMuch = errors.New("stopped after printing more than 1 MB")

// projectVariables returns the environment variables with the project's directory that hooks for other agents use.
func projectVariables() []string {
	return []string{"ADZE_PROJECT_DIR", "QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"}
}

// environ returns the environment of commands, without credentials.
func environ(o Options) []string {
	base := o.Environ
	if base == nil {
		base = os.Environ()
	}
	env := proc.Environ(base, nil)
	for _, name := range projectVariables() {
		env = append(env, name+"="+o.Dir)
	}
	return env
}

// Print runs a command as the commands of hooks run, with the input as JSON, and returns its standard output. An exit
// code other than 0 is an error.
func (r *Runner) Print(ctx context.Context, command string, timeout time.Duration, in any) (string, error) {
	p, err := r.command(ctx, in, Hook{Command: command, Timeout: timeout})
	if err == nil && p.exit != 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(p.stderr), "\n")
		err = fmt.Errorf("exit code %d %s", p.exit, first)
	}
	return p.stdout, err
}

// command runs a command with the input as JSON.
func (r *Runner) command(ctx context.Context, in any, h Hook) (printed, error) {
	input, err := humanize.JSON(in)
	if err != nil {
		return printed{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	full := func() { cancel(errTooMuch) }
	stdout, stderr := proc.NewBeginning(maxOutput, full), proc.NewBeginning(maxOutput, nil)
	c := proc.Command{
		Line: h.Command, Dir: r.o.Dir, Env: slices.Clip(r.env), Timeout: h.timeout(), Input: append(input, '\n'),
		Head: 1, Tail: 1, Spill: stdout, SpillLimit: 2 * maxOutput, Stderr: stderr,
	}
	if in, ok := in.(Input); ok && in.Traceparent != "" {
		c.Env = append(c.Env, "TRACEPARENT="+in.Traceparent)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		c.Env = append(c.Env, name+"="+h.Env[name])
	}
	if h.Shell == "powershell" {
		c.Line, c.Argv = "", []string{powershell(), "-NoProfile", "-NonInteractive", "-Command", h.Command}
	}
	o, err := r.commands.Run(ctx, c)
	switch {
	case err != nil:
		return printed{}, err
	case errors.Is(context.Cause(ctx), errTooMuch):
		return printed{}, errTooMuch
	case o.Ended == proc.TimedOut:
		return printed{}, fmt.Errorf("timed out after %s", h.timeout())
	case o.Ended != proc.Exited:
		return printed{}, fmt.Errorf("%s", o.Ended)
	case o.Signal != 0:
		return printed{}, fmt.Errorf("killed by signal %s", o.Signal)
	}
	return printed{exit: o.Exit, stdout: stdout.String(), stderr: stderr.String()}, nil
}

// powershell returns the program for hooks with that shell.
func powershell() string {
	if _, err := exec.LookPath("pwsh"); err == nil {
		return "pwsh"
	}
	return "powershell"
}
