// Package cli is the command line: it reads flags, opens a session, prompts the user, and prints the results.
//
//	os.Exit(cli.Run(ctx, cli.Env{Args: os.Args[1:], Stdin: os.Stdin, …}))
//
// Package session connects the other packages; this one makes none of their decisions.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/model"
)

// Env is the environment of a run.
type Env struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Environ []string       // for commands; nil: this process's
	Helper  builtin.Helper // keeps commands from escaping
	Dir     string         // the current directory
	Home    string         // the user's home directory
	Version string
	// Terminal reports whether stdin and stderr are a terminal: the user can answer prompts.
	Terminal bool
	// Hurry is closed when the user interrupts a second time: an exit that waits for something doesn't wait longer.
	Hurry <-chan struct{}

	driven   bool              // a program answers instead of a user
	homeless error             // why there is no home directory
	notify   func(note string) // takes notices for the user; nil: they go to stderr
}

// streams are the standard streams, for prompts and what is shown beside an answer.
func (e Env) streams() console.Streams {
	return console.Streams{Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Getenv: e.Getenv, Terminal: e.Terminal}
}

// asker asks on the terminal.
func (e Env) asker() approval.Front {
	return console.NewAsker(e.streams(), console.NewScreen(e.streams())).Ask
}

// FromOS is the environment of this process. helper is the result of adze.Main, the first call in main.
func FromOS(version string, helper builtin.Helper) Env {
	dir, _ := os.Getwd() // commands that need a directory report a deleted one
	home, err := homedir.Dir()
	env := Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Helper: helper, Dir: dir, Home: home, Version: version,
		Terminal: tty.IsTerminal(os.Stdin) && tty.IsTerminal(os.Stderr),
	}
	if err != nil {
		env.homeless = err
	} else if os.Getenv("HOME") == "" { // what Adze starts has the same home
		env.Environ = homedir.Environ(os.Environ())
		env.Getenv = with(os.Getenv, "HOME", home)
	}
	return env
}

// with is an environment in which one variable has another value.
func with(getenv func(string) string, name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return getenv(asked)
	}
}

// command is one command of the line.
type command struct {
	name  string // "tool call"; the prompt has none
	words string // what it takes
	about string
	usage string // for a command line with more or fewer words; "": run checks them
	help  string // examples
	group bool   // it is no command itself: it has some
	noun  noun   // what its words are, for completion
	// hidden commands are for programs.
	hidden bool
	// homeless says that the command reads no settings and keeps no state of the user's.
	homeless bool
	run      runFunc
}

// key is the command's name in the table of flags.
func (c command) key() string {
	if c.name == "" {
		return cmdPrompt
	}
	return strings.ReplaceAll(c.name, " ", "-")
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, env Env) int {
	err := run(ctx, env)
	code := exitCode(err)
	if err != nil && err.Error() != "" && !closedPipe(err) {
		fmt.Fprintf(env.Stderr, "adze: %v\n", err)
	}
	return code
}

func run(ctx context.Context, env Env) error {
	o, words, err := parse(env.Args)
	if err != nil {
		return err
	}
	c, words, err := choose(words)
	if err != nil {
		return err
	}
	for _, f := range o.used {
		if !f.known(c.key()) {
			return misplaced(f, c)
		}
	}
	switch {
	case o.help:
		return printHelp(env.Stdout, c, false)
	case o.version:
		return printVersion(ctx, env, o, nil)
	case o.yolo && o.mode != "":
		return usagef("use either --yolo or --approval-mode, not both")
	}
	if c.usage != "" {
		if err := takes(words, len(strings.Fields(c.words)), c.usage); err != nil {
			return err
		}
	}
	if c.homeless {
		return c.run(ctx, env, o, words)
	}
	env, remove, err := env.housed()
	if err != nil {
		return err
	}
	defer remove()
	return c.run(ctx, env, o, words)
}

// housed gives a run without a home directory a private one for its state, and removes that in the end: it works
// without user settings.
func (env Env) housed() (housed Env, remove func(), err error) {
	if env.Home != "" || env.homeless == nil || env.Getenv("ADZE_HOME") != "" {
		return env, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "adze-home-")
	if err != nil {
		return env, nil, fmt.Errorf("%w\nSet HOME or ADZE_HOME: a temporary directory can't be made: %w", env.homeless,
			err)
	}
	env.tell(env.homeless.Error() + "\nContinuing without user settings; nothing is saved. Set HOME or ADZE_HOME to " +
		"change that.")
	env.Getenv = with(env.Getenv, "ADZE_HOME", dir)
	return env, func() { _ = os.RemoveAll(dir) }, nil
}

// choose finds the command that the words begin with. Words that begin with none are a prompt.
func choose(words []string) (command, []string, error) {
	prompt := command{}
	group := false
	for _, c := range commands() {
		if c.name == "" {
			prompt = c
			continue
		}
		names := strings.Fields(c.name)
		if len(words) >= len(names) && strings.Join(words[:len(names)], " ") == c.name {
			return c, words[len(names):], nil
		}
		group = group || len(words) > 0 && len(names) > 1 && names[0] == words[0]
	}
	if group {
		return groupHelp(words[0]), words[1:], nil
	}
	if err := mistyped(words); err != nil {
		return command{}, nil, err
	}
	return prompt, words, nil
}

// mistyped is an error if words look like a command and aren't one: sending `adze docter` to a model would cost money
// and surprise. A longer text is a prompt, unless its second word is a command of the group that the first one is close
// to.
func mistyped(words []string) error {
	if len(words) == 0 {
		return nil
	}
	for _, c := range commands() {
		names := strings.Fields(c.name)
		if len(names) == 0 || len(words) < len(names) || !isClose(words[0], names[0]) {
			continue
		}
		if len(names) > 1 && !isClose(words[1], names[1]) {
			continue
		}
		if len(names) == 1 && len(words) > 2 {
			continue
		}
		typed := strings.Join(words[:len(names)], " ")
		return usagef("unknown command %q\nDid you mean 'adze %s'? To send a prompt, use adze -p %q.", typed, c.name,
			strings.Join(words, " "))
	}
	if group, ok := closeGroup(words[0]); ok && len(words) <= 2 {
		return usagef("unknown command %q\nDid you mean 'adze %s'? To send a prompt, use adze -p %q.", words[0], group,
			strings.Join(words, " "))
	}
	return nil
}

// closeGroup is a group of commands whose name is close to a word.
func closeGroup(word string) (string, bool) {
	for _, c := range commands() {
		if group, _, nested := strings.Cut(c.name, " "); nested && isClose(word, group) {
			return group, true
		}
	}
	return "", false
}

// isClose reports whether a word is a command's name or a typo of it. Other words than lowercase ones are a prompt.
func isClose(word, name string) bool {
	_, typo := nearest.Typo(word, name)
	return typo && strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// misplaced is the error for a flag of another command.
func misplaced(f *flag, c command) error {
	if c.name == "" && f.long == "json" {
		return usagef("--json can't be used with a prompt\nUse --output-format json.")
	}
	return usagef("--%s can't be used with %s\nSee 'adze %s--help'.", f.long, title(c), trailing(c.name))
}

func title(c command) string {
	if c.name == "" {
		return "a prompt"
	}
	return "adze " + c.name
}

func trailing(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

// takes returns a usage error unless there are n words.
func takes(words []string, n int, usage string) error {
	if len(words) != n {
		return usagef("usage: adze %s", usage)
	}
	return nil
}

func printVersion(_ context.Context, env Env, o *options, _ []string) error {
	if o.json {
		return printJSON(env.Stdout, map[string]string{
			"version": env.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(env.Stdout, "adze %s\n", env.Version)
	return err
}

// The exit codes of headless runs, and those of tool call that differ.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitDenied      = 3 // tool call: permission denied
	exitCredentials = 41
	exitInput       = 42
	exitSettings    = 52
	exitTurns       = 53
	exitTools       = 54
	exitBudget      = 55
	exitInterrupted = 130
)

// The exit codes of permission check.
const (
	exitAsk  = 3
	exitDeny = 4
)

// exit ends the program with its own code. An empty text prints nothing.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

func exitf(code int, format string, args ...any) error {
	return &exit{code, fmt.Sprintf(format, args...)}
}

// exitCode finds the code that stands for an error.
func exitCode(err error) int {
	var own *exit
	var usage *usageError
	var setting *settings.Error
	var value *settings.ValueError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &usage), errors.Is(err, project.ErrDirectories):
		return exitUsage
	case errors.As(err, &setting), errors.As(err, &value), errors.Is(err, project.ErrRules):
		return exitSettings
	case errors.Is(err, project.ErrPrompt), errors.Is(err, project.ErrSession):
		return exitInput
	case errors.Is(err, agent.ErrTurnLimit):
		return exitTurns
	case errors.Is(err, agent.ErrWallTime), errors.Is(err, agent.ErrCallLimit), errors.Is(err, agent.ErrTokenLimit),
		errors.Is(err, goal.ErrCost):
		return exitBudget
	case errors.Is(err, model.ErrCredentials), errors.Is(err, project.ErrModel):
		return exitCredentials
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

// closedPipe reports whether the reader of our output has gone: no one reads an error.
func closedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE)
}
