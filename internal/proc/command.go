package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Command is what to run.
type Command struct {
	Line string   // for the shell; any length
	Argv []string // or a program, looked for in PATH, and its arguments, without a shell
	Dir  string   // where; empty means the current directory
	Env  []string // all of its environment, see Environ; nil means Environ(os.Environ(), nil)

	// Sandbox, if not nil, is the box that the command runs in. If it cannot
	// be made the command does not run, unless the box is a best effort.
	Sandbox *sandbox.Spec

	Timeout time.Duration // 0 means none

	Input []byte // what it reads on its standard input; nil means nothing

	// Stderr, if not nil, is given what the command prints on its standard
	// error, as it was printed; Outcome.Output is then its standard output.
	// Commands in a sandbox have none.
	// Unlike Spill it is not masked. It is not called after the outcome is known.
	Stderr io.Writer

	// Head and Tail are how many bytes of text the result keeps of the
	// beginning and of the end; 0 means 16 KB each.
	Head, Tail int

	// Spill, if not nil, is given the output as it was printed, secrets
	// masked, up to SpillLimit bytes (0 means 64 MB). If it fails, the command
	// runs on and Output.SpillErr says why.
	Spill      io.Writer
	SpillLimit int64

	// Live, if not nil, is called with the latest output while the command
	// runs, at most once in LiveEvery (0 means 100 ms) and once more at the
	// end; never twice at a time. It must return: the command does not wait
	// for it, the result does.
	Live      func(Progress)
	LiveEvery time.Duration
}

// withDefaults checks the command and fills in what was left out.
func (c Command) withDefaults() (Command, error) {
	switch {
	case c.Line == "" && len(c.Argv) == 0, c.Line != "" && strings.TrimSpace(c.Line) == "", len(c.Argv) > 0 && c.Argv[0] == "":
		return c, errors.New("run command: empty command")
	case c.Line != "" && len(c.Argv) > 0:
		return c, errors.New("run command: both Line and Argv are set")
	case strings.ContainsRune(c.Line+strings.Join(c.Argv, ""), 0):
		return c, errors.New("run command: it contains a NUL byte. Write it as \\0 if the program supports that")
	case strings.ContainsRune(c.Dir, 0):
		return c, errors.New("run command: the directory contains a NUL byte")
	case c.Stderr != nil && c.Sandbox.Boxed():
		return c, errors.New("run command: a sandboxed command has no standard error of its own")
	case c.Timeout < 0:
		return c, fmt.Errorf("run command: negative timeout %v (0 means none)", c.Timeout)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("run command: find the current directory: %w", err)
	}
	switch st, err := os.Stat(dir); {
	case err != nil:
		return c, fmt.Errorf("run command in a directory: %w", err)
	case !st.IsDir():
		return c, fmt.Errorf("run command in %s: it is not a directory", dir)
	}
	c.Dir = dir
	if c.Env == nil {
		c.Env = Environ(os.Environ(), nil)
	}
	// A variable with a NUL would make the kernel refuse all of them.
	env := make([]string, 0, len(c.Env)+1)
	for _, kv := range c.Env {
		if !strings.ContainsRune(kv, 0) {
			env = append(env, kv)
		}
	}
	c.Env = env
	c.Head, c.Tail = orElse(c.Head, 16<<10), orElse(c.Tail, 16<<10)
	c.SpillLimit = orElse(c.SpillLimit, 64<<20)
	c.LiveEvery = orElse(c.LiveEvery, 100*time.Millisecond)
	return c, nil
}

// orElse is v, or the default if v is not positive.
func orElse[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
