package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// Request is a command that a call runs.
type Request struct {
	Command    string
	Purpose    string // in a few words; may be empty
	Dir        workspace.Path
	Timeout    time.Duration
	Background bool
}

// OtherShell returns the name of the shell that runs commands, if it isn't bash.
func (s *Shell) OtherShell() string {
	if sh := s.runner.Shell(); !sh.Bash {
		return cmp.Or(sh.Name(), "unknown")
	}
	return ""
}

// Invocation returns the invocation of a command before more is known about it.
func Invocation(command string) *tool.Invocation {
	return &tool.Invocation{
		Description: "run " + Label(command), Access: []tool.Access{{Verb: tool.Execs, Target: command}},
	}
}

// Prepare returns the invocation that runs a command.
func (s *Shell) Prepare(ctx context.Context, r Request) (*tool.Invocation, error) {
	inv, dir := Invocation(r.Command), r.Dir.Abs
	if !r.Dir.Inside() {
		inv.Access = append(inv.Access, tool.Access{Verb: tool.Reads, Target: dir + "/"})
	}
	open, err := s.opening(ctx, r.Command, dir)
	if err != nil {
		return inv, err
	}
	inv.Access, inv.Notes = append(inv.Access, open.access...), open.notes
	shown := "(root)"
	if dir != s.ws.Project() {
		shown = dir
	}
	inv.Confirm = tool.Command{
		Line: r.Command, Shell: s.OtherShell(), Directory: dir, Purpose: r.Purpose, Sandbox: s.sandboxes.name(),
		Warnings: slices.Concat(open.warnings, warningsFor(r), s.sandboxes.warnings()),
	}
	inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		c := &shellCall{
			shell: s, request: r, shown: shown, live: l, access: inv.Access,
			command: proc.Command{Line: r.Command, Dir: dir},
		}
		var err error
		c.held, err = s.sandboxes.assign(&c.command, l.Decision)
		if err = errors.Join(err, s.widen(ctx, &c.command, open)); err != nil {
			return tool.Result{}, tool.Errorf(Failure, "run %s: %w", Label(r.Command), err)
		}
		s.settle(&c.command, open.creates)
		if r.Background {
			return c.start()
		}
		return c.run(ctx)
	}
	inv.Trial = s.trial(inv, shellCall{
		shell: s, request: r, shown: shown, access: inv.Access, command: proc.Command{Line: r.Command, Dir: dir},
	})
	return inv, nil
}

// warningsFor returns the warnings in the permission prompt of a command.
func warningsFor(r Request) []string {
	ws := hiddenIn(r)
	if r.Background {
		ws = append(ws, "it keeps running in the background")
	}
	return ws
}

func hiddenIn(r Request) []string {
	if tool.Hidden(r.Command) {
		return []string{"the command contains invisible characters (shown escaped)"}
	}
	return nil
}

// The types of errors of commands.
const (
	Failure          tool.ErrorType = "shell_execute_error"
	ChangedSinceRead tool.ErrorType = "file_changed_since_read"
)

// shellCall is one call of run_shell_command.
type shellCall struct {
	shell   *Shell
	request Request
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
	r := &running{label: c.request.Command, moved: make(chan string, 1)}
	c.shell.enter(r)
	defer c.shell.leave(r)
	p, whole, err := c.begin(ctx)
	if err != nil {
		return tool.Result{}, tool.Errorf(Failure, "run %s: %w", Label(c.request.Command), err)
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
	return c.held.release(ctx, c.live, c.request.Command, c.shell.ws.Project())
}

// begin starts the command.
func (c *shellCall) begin(ctx context.Context) (*proc.Process, *longOutput, error) {
	whole := &longOutput{
		open: func() (file, error) { return c.shell.open(c.live.Call) }, keep: outputHead + outputTail,
		private: c.held != nil,
	}
	c.command.Timeout = c.request.Timeout
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
	id, err := c.shell.jobs.Start(c.command, c.request.Command)
	if err != nil {
		return tool.Result{}, tool.Errorf(Failure, "run %s in the background: %w", Label(c.request.Command), err)
	}
	c.remember(id)
	text := fmt.Sprintf("Command: %s\nDirectory: %s\nBackground Id: %s\nRunning in the background.%s%s It is killed "+
		"when the session ends.",
		c.request.Command, c.shown, id, c.shell.hint("shell_output", " Use shell_output to read its output."),
		c.shell.hint("shell_stop", " Use shell_stop to stop it."))
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
		c.request.Command, c.shown, orEmpty(piece.Text), id,
		c.shell.hint("shell_output", " Use shell_output to read more output."),
		c.shell.hint("shell_stop", " Use shell_stop to stop it."))
	text += noteLines(c.shell.aside())
	shown := tool.Markdown("Moved to the background as " + id)
	return tool.Result{Content: []tool.Part{tool.Text(text)}, Display: shown, Output: piece.Text}
}
