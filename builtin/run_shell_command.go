package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed run_shell_command.md
var runShellCommandText string

type runShellCommandArgs struct {
	Command      string `json:"command" description:"Command to run with bash -c."`
	Description  string `json:"description,omitempty" description:"What the command does, in 5-10 words, shown to the user."`
	Directory    string `json:"directory,omitempty" description:"Directory to run in, absolute or relative to the workspace (default: the workspace)." alias:"dir_path"`
	Timeout      int    `json:"timeout,omitempty" description:"Timeout in milliseconds (max 600000)." minimum:"1" maximum:"600000" default:"120000" ignored:"dangerouslyDisableSandbox"`
	IsBackground bool   `json:"is_background,omitempty" description:"Run in background and return an ID at once.{{shell_output: Use shell_output to read the output.}}{{shell_stop: Use shell_stop to stop it.}}" alias:"run_in_background"`
}

func runShellCommand(s *shell) tool.Tool {
	return s.named(tool.Define(tool.Def[runShellCommandArgs]{
		Name: "run_shell_command", DisplayName: "Shell",
		Summary:     "Run a bash command, in the foreground or background",
		Description: strings.TrimSpace(runShellCommandText),
		RuleNames:   []string{"Bash"}, Kind: tool.Execute, Budget: -1,
		Prepare: func(ctx context.Context, a runShellCommandArgs) (*tool.Invocation, error) {
			return s.prepare(ctx, a)
		},
	}))
}

// named returns the tool with texts that name the shell, if it isn't bash.
func (s *shell) named(t tool.Tool) tool.Tool {
	name := s.otherShell()
	if name == "" {
		return t
	}
	d := t.Declaration()
	replace := strings.NewReplacer("a bash command", "a command of the shell "+name+" (not bash)", "bash -c", name)
	d.Summary, d.Description = replace.Replace(d.Summary), replace.Replace(d.Description)
	d.Parameters = []byte(replace.Replace(string(d.Parameters)))
	return worded{t, d}
}

// otherShell returns the name of the shell that runs commands, if it isn't bash.
func (s *shell) otherShell() string {
	if sh := s.runner.Shell(); !sh.Bash {
		return cmp.Or(sh.Name(), "unknown")
	}
	return ""
}

// maxCommand is the maximum length of a command.
const maxCommand = 1 << 20

func (s *shell) prepare(ctx context.Context, a runShellCommandArgs) (*tool.Invocation, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return nil, tool.BadParam("command", "must not be empty")
	case strings.ContainsRune(a.Command, 0):
		return nil, tool.BadParam("command", "contains a NUL byte, which shells don't accept")
	case !utf8.ValidString(a.Command):
		return nil, tool.BadParam("command", "is not valid UTF-8")
	case len(a.Command) > maxCommand:
		return nil, tool.BadParam("command", "has %d bytes, over the %d that are run; put it into a file and run that",
			len(a.Command), maxCommand)
	}
	inv := &tool.Invocation{
		Description: "run " + label(a.Command), Access: []tool.Access{{Verb: tool.Execs, Target: a.Command}},
	}
	dir, err := s.directory(a.Directory)
	if err != nil {
		return inv, err
	}
	if !dir.Inside() {
		inv.Access = append(inv.Access, tool.Access{Verb: tool.Reads, Target: dir.Abs + "/"})
	}
	open, err := s.opening(ctx, a.Command, dir.Abs)
	if err != nil {
		return inv, err
	}
	inv.Access, inv.Notes = append(inv.Access, open.access...), open.notes
	shown := "(root)"
	if dir.Abs != s.files.ws.Project() {
		shown = dir.Abs
	}
	inv.Confirm = tool.Command{
		Line: a.Command, Shell: s.otherShell(), Directory: dir.Abs, Purpose: a.Description, Sandbox: s.sandboxes.name(),
		Warnings: slices.Concat(open.warnings, warningsFor(a), s.sandboxes.warnings()),
	}
	inv.Rework = func(text string) json.RawMessage {
		now := a
		now.Command = text
		return rework(now)
	}
	inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		c := &shellCall{
			shell: s, args: a, shown: shown, live: l, access: inv.Access,
			command: proc.Command{Line: a.Command, Dir: dir.Abs},
		}
		var err error
		c.held, err = s.sandboxes.assign(&c.command, l.Decision)
		if err = errors.Join(err, s.widen(ctx, &c.command, open)); err != nil {
			return tool.Result{}, tool.Errorf(shellFailure, "run %s: %w", label(a.Command), err)
		}
		s.settle(&c.command, open.creates)
		if a.IsBackground {
			return c.start()
		}
		return c.run(ctx)
	}
	inv.Trial = s.trial(a, inv, shellCall{
		shell: s, args: a, shown: shown, access: inv.Access, command: proc.Command{Line: a.Command, Dir: dir.Abs},
	})
	return inv, nil
}

// warningsFor returns the warnings in the permission prompt of a command.
func warningsFor(a runShellCommandArgs) []string {
	ws := hiddenIn(a)
	if a.IsBackground {
		ws = append(ws, "it keeps running in the background")
	}
	return ws
}

func hiddenIn(a runShellCommandArgs) []string {
	if tool.Hidden(a.Command) {
		return []string{"the command contains invisible characters (shown escaped)"}
	}
	return nil
}

// directory resolves the directory to run in.
func (s *shell) directory(name string) (dir workspace.Path, err error) {
	if name == "" {
		name = s.files.ws.Project()
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.files.ws.Project(), name)
	}
	dir, err = s.files.at(toRunIn, "directory", name, ignore.Directory)
	if err != nil {
		return dir, err
	}
	info, err := dir.Stat()
	switch {
	case err != nil:
		return dir, toRunIn.failure(dir, err)
	case !info.IsDir():
		return dir, toRunIn.errorf(notADirectory, dir, "it is not a directory")
	}
	return dir, nil
}

const shellFailure tool.ErrorType = "shell_execute_error"

var toRunIn = action{"run a command in", shellFailure}

// shellCall is one call of run_shell_command.
type shellCall struct {
	shell   *shell
	args    runShellCommandArgs
	shown   string // the directory, for the result
	live    *tool.Live
	access  []tool.Access
	command proc.Command
	held    *held    // nil: its output isn't held back
	before  string   // the result in the sandbox, if the command runs again without one
	tries   bool     // it runs in a trial
	moves   []string // notes on repositories that were moved aside
	network *network // nil: it has none, or that of this machine
}

// The parts of a long output that the result includes. The rest is in a file.
const (
	outputHead = 8 << 10
	outputTail = 16 << 10
)

// run runs the command until it ends, or until the user moves it to the background.
func (c *shellCall) run(ctx context.Context) (tool.Result, error) {
	r := &running{label: c.args.Command, moved: make(chan string, 1)}
	c.shell.enter(r)
	defer c.shell.leave(r)
	p, whole, err := c.begin(ctx)
	if err != nil {
		return tool.Result{}, tool.Errorf(shellFailure, "run %s: %w", label(c.args.Command), err)
	}
	c.shell.started(r, p)
	select {
	case <-p.Done():
	case id := <-r.moved:
		c.network.stopAsking()
		return c.moved(ctx, id, p), nil
	}
	c.shell.leave(r) // it may run again
	quiet := p.Progress().Quiet
	o := p.Wait()
	c.network.close()
	err = c.release(ctx)
	c.held.done(o.Leftover == 0)
	if err != nil {
		whole.discard()
		return tool.Result{}, err
	}
	c.moves = append(c.moves, c.shell.aside()...)
	return c.ended(ctx, o, whole.close(), quiet)
}

func (c *shellCall) release(ctx context.Context) error {
	return c.held.release(ctx, c.live, c.args.Command, c.shell.files.ws.Project())
}

// begin starts the command.
func (c *shellCall) begin(ctx context.Context) (*proc.Process, *longOutput, error) {
	whole := &longOutput{
		open: func() (file, error) { return c.shell.open(c.live.Call) }, keep: outputHead + outputTail,
		private: c.held != nil,
	}
	c.command.Timeout = time.Duration(c.args.Timeout) * time.Millisecond
	c.command.Head, c.command.Tail, c.command.Spill = outputHead, outputTail, whole
	c.command.Live = func(p proc.Progress) { c.live.Show(tool.Literal(p.Tail)) }
	c.openNetwork()
	p, err := c.shell.runner.Start(ctx, c.command)
	return p, whole, err
}

// withoutSandbox runs the command again, without its sandbox.
func (c *shellCall) withoutSandbox(ctx context.Context, why string) (tool.Result, error) {
	c.before = why + " The user approved a retry outside the sandbox; this is its result."
	c.command.Sandbox, c.command.Env, c.held = c.shell.sandboxes.denials.spec(), c.shell.sandboxes.env, nil
	return c.run(ctx)
}

// start starts the command in the background.
func (c *shellCall) start() (tool.Result, error) {
	id, err := c.shell.jobs.Start(c.command, c.args.Command)
	if err != nil {
		return tool.Result{}, tool.Errorf(shellFailure, "run %s in the background: %w", label(c.args.Command), err)
	}
	c.remember(id)
	text := fmt.Sprintf("Command: %s\nDirectory: %s\nBackground Id: %s\nRunning in the background.%s%s It is killed "+
		"when the session ends.",
		c.args.Command, c.shown, id, c.shell.files.offer.hint("shell_output", " Use shell_output to read its output."),
		c.shell.files.offer.hint("shell_stop", " Use shell_stop to stop it."))
	if _, job, err := c.shell.jobs.Read(id, 0, 1); err == nil {
		text += noteLines(c.shell.untold(job.Notes))
	}
	text += noteLines(c.shell.aside())
	return tool.Result{
		Content: []tool.Part{tool.Text(text)}, Display: tool.Markdown("Started in the background as " + id),
	}, nil
}

// noteLines returns notes as further lines of a result.
func noteLines(notes []string) (lines string) {
	for _, n := range notes {
		lines += "\nNote: " + n
	}
	return lines
}

func (c *shellCall) moved(ctx context.Context, id string, p *proc.Process) tool.Result {
	c.remember(id)
	piece := p.Read(0, outputTail)
	if err := c.release(ctx); err != nil {
		piece.Text = err.Error()
	} else {
		c.shell.mu.Lock()
		c.shell.told[id] = piece.Next
		c.shell.mu.Unlock()
	}
	text := fmt.Sprintf("Command: %s\nDirectory: %s\nOutput: %s\nBackground Id: %s\nThe user moved it to the "+
		"background, where it keeps running.%s%s",
		c.args.Command, c.shown, orEmpty(piece.Text), id,
		c.shell.files.offer.hint("shell_output", " Use shell_output to read more output."),
		c.shell.files.offer.hint("shell_stop", " Use shell_stop to stop it."))
	text += noteLines(c.shell.aside())
	shown := tool.Markdown("Moved to the background as " + id)
	return tool.Result{Content: []tool.Part{tool.Text(text)}, Display: shown, Output: piece.Text}
}
