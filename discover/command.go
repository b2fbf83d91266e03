package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

// CommandOrigin is the Origin of tools that a discovery command lists.
const CommandOrigin = "command"

// FailedCommand is the documented error type of a discovered tool that failed.
const FailedCommand tool.ErrorType = "discovered_tool_execution_error"

// ErrNoCall reports a discovery command without a call command.
var ErrNoCall = errors.New("tools.toolDiscoveryCommand is set without a call command, so its tools are not " +
	"available. Set tools.toolCallCommand")

// Command discovers tools by running a command, and runs them by another. Both are split into words by the quoting
// rules of a shell and run without one.
type Command struct {
	Discover string        // prints a JSON array of function declarations
	Call     string        // gets a tool's name as its last word and the arguments as JSON on stdin
	Dir      string        // working directory of both: the project's directory
	Env      []string      // their whole environment; nil is that of this process without credentials
	Wait     time.Duration // for the discovery; 0 is 10 s
	Timeout  time.Duration // for a call; 0 is 10 minutes
}

// Found is the result of a discovery.
type Found struct {
	Tools    []tool.Tool
	Warnings []string // skipped or changed declarations, and what the command printed to stderr
}

// Tools runs the discovery command. The error includes the command's stderr; with an error there are no tools.
func (c Command) Tools(ctx context.Context) (Found, error) {
	call, err := Words(c.Call)
	switch {
	case err != nil:
		return Found{}, fmt.Errorf("invalid tools.toolCallCommand: %w", err)
	case len(call) == 0:
		return Found{}, ErrNoCall
	}
	argv, err := Words(c.Discover)
	if err == nil && len(argv) == 0 {
		err = errors.New("empty command")
	}
	if err != nil {
		return Found{}, fmt.Errorf("invalid tools.toolDiscoveryCommand: %w", err)
	}
	wait := c.Wait
	if wait == 0 {
		wait = 10 * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	e, err := c.child(argv, nil).run(limited)
	if err != nil {
		return Found{}, fmt.Errorf("discover tools: %w", err)
	}
	if why := e.failure(wait); why != "" {
		return Found{}, fmt.Errorf("discover tools with %s: %s%s", c.Discover, why, aside(e.stderr))
	}
	found, warnings, err := parseDeclarations([]byte(e.stdout))
	if err != nil {
		return Found{}, fmt.Errorf("discover tools with %s: %w%s", c.Discover, err, aside(e.stderr))
	}
	if e.stderr != "" {
		warnings = append(warnings, "stderr: "+humanize.Shorten(strings.TrimSpace(e.stderr), 2000))
	}
	f := Found{Warnings: warnings}
	f.add(c, call, found)
	return f, nil
}

func aside(stderr string) string {
	if stderr = strings.TrimSpace(stderr); stderr == "" {
		return ""
	}
	return "; stderr: " + humanize.Shorten(stderr, 2000)
}

func (c Command) child(argv []string, input []byte) child {
	env := c.Env
	if env == nil {
		env = proc.Environ(os.Environ(), nil)
	}
	return child{argv: argv, dir: c.Dir, env: append(slices.Clip(env), Nested+"=1"), input: input}
}

// fingerprint identifies the version of a tool that a saved approval applies to: its command, schema and description.
func (c Command) fingerprint(d tool.Declaration) string {
	r := remote{Name: d.Name, Description: d.Description, Input: d.Parameters}
	return r.print(c.Call + "\x00" + c.Dir)
}

// add makes tools of declarations.
func (f *Found) add(c Command, call []string, found []declared) {
	seen := map[string]bool{}
	for _, d := range found {
		if seen[d.Name] {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s is declared more than once; using the first declaration",
				d.Name))
			continue
		}
		seen[d.Name] = true
		description, hidden := clean.Text(d.Description, clean.MaxText)
		if hidden > 0 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s: removed %d invisible characters from its description",
				d.Name, hidden))
		}
		declaration := tool.Declaration{
			Name: clean.Name("", d.Name), DisplayName: d.Name, Description: description, Parameters: d.schema(),
			Kind: tool.Other, Origin: CommandOrigin,
		}
		declaration.Fingerprint = c.fingerprint(declaration)
		f.Tools = append(f.Tools, &discovered{
			command: c, argv: append(append([]string(nil), call...), d.Name), declaration: declaration,
		})
	}
}

// discovered is a tool that the call command runs.
type discovered struct {
	command     Command
	argv        []string
	declaration tool.Declaration
	schema      lazySchema
}

func (t *discovered) Declaration() tool.Declaration { return t.declaration }

func (t *discovered) Prepare(_ context.Context, raw json.RawMessage) (*tool.Invocation, error) {
	args, notes, err := t.schema.arguments(t.declaration.Parameters, raw)
	if err != nil {
		return nil, err
	}
	return &tool.Invocation{
		Description: fmt.Sprintf("run the project's tool %s", t.declaration.Title()),
		Access:      []tool.Access{tool.Anything},
		Confirm: tool.Literal(fmt.Sprintf("%s\nDirectory: %s\nStandard input:\n%s", quote(t.argv), t.command.Dir,
			indent(args))),
		Notes: notes,
		Run:   func(ctx context.Context, _ *tool.Live) (tool.Result, error) { return t.run(ctx, args) },
	}, nil
}

func (t *discovered) run(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	timeout := t.command.Timeout
	if timeout == 0 {
		timeout = 10 * time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e, err := t.command.child(t.argv, args).run(limited)
	if err != nil {
		return tool.Result{}, &tool.Error{Type: FailedCommand, Err: err}
	}
	if why := e.failure(timeout); why != "" {
		result := tool.TextResult(e.report())
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		kind := FailedCommand
		if errors.Is(e.err, context.DeadlineExceeded) {
			kind = tool.ExecutionTimeout
		}
		return result, tool.Errorf(kind, "%s failed: %s", t.declaration.Title(), why)
	}
	text := e.stdout
	if said := strings.TrimSpace(e.stderr); said != "" {
		text = strings.TrimLeft(strings.TrimRight(text, "\n")+"\n\n", "\n") + "Stderr:\n" + said
	}
	return tool.Result{Content: []tool.Part{tool.Text(strings.ToValidUTF8(text, "\uFFFD"))}}, nil
}

// failure describes why a command failed; "" if it succeeded.
func (e ended) failure(allowed time.Duration) string {
	switch {
	case errors.Is(e.err, context.DeadlineExceeded):
		return fmt.Sprintf("timed out after %s", allowed)
	case errors.Is(e.err, context.Canceled):
		return "canceled"
	case e.err != nil:
		return e.err.Error()
	case e.signal != "":
		return "killed by signal " + e.signal
	case e.exit != 0:
		return fmt.Sprintf("exit code %d", e.exit)
	}
	return ""
}

// report returns the documented text of a failed call.
func (e ended) report() string {
	line := func(name, value, none string) string {
		if value = strings.TrimRight(value, "\n"); value == "" {
			value = none
		}
		return name + ": " + strings.ToValidUTF8(value, "\uFFFD")
	}
	cause, code := "", ""
	if e.err != nil {
		cause = e.err.Error()
	}
	if e.exit >= 0 {
		code = fmt.Sprint(e.exit)
	}
	return strings.Join([]string{
		line("Stdout", e.stdout, "(empty)"), line("Stderr", e.stderr, "(empty)"), line("Error", cause, "(none)"),
		line("Exit Code", code, "(none)"), line("Signal", e.signal, "(none)"),
	}, "\n")
}

// lazySchema is a schema that is parsed when it is first needed: a start with hundreds of cached tools parses none.
type lazySchema struct {
	once   sync.Once
	schema *schema.Schema
}

// arguments checks arguments. An invalid schema accepts everything: the server or command checks them.
func (l *lazySchema) arguments(parameters, raw json.RawMessage) (json.RawMessage, []string, error) {
	l.once.Do(func() {
		var err error
		if l.schema, err = schema.Parse(parameters); err != nil {
			l.schema, _ = schema.Parse(nil)
		}
	})
	return l.schema.Arguments(raw)
}

// maxOutput bounds each output stream of a command.
const maxOutput = 10 << 20

// child is a command without a shell.
type child struct {
	argv  []string
	dir   string
	env   []string
	input []byte
}

// ended is the result of a command.
type ended struct {
	stdout, stderr string
	exit           int    // -1 if it didn't exit by itself
	signal         string // the signal that killed it, or ""
	err            error  // it was stopped, printed too much, or its output could not be read
}

// run runs the command. The error means that it didn't start. When ctx ends, the whole process group is killed.
func (c child) run(ctx context.Context) (ended, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, bytes.NewReader(c.input)
	full := func() { stop(fmt.Errorf("stopped after printing more than %d MB", maxOutput>>20)) }
	stdout, stderr := proc.NewBeginning(maxOutput, full), proc.NewBeginning(maxOutput, full)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	group, err := stdio.NewGroup(cmd)
	if err != nil {
		return ended{}, stdio.StartError(c.argv[0], err)
	}
	cmd.WaitDelay = stdio.Drain
	cmd.Cancel = func() error {
		time.AfterFunc(stdio.KillGrace, func() { group.Kill() })
		return group.Term()
	}
	if err := group.Start(); err != nil {
		return ended{}, stdio.StartError(c.argv[0], err)
	}
	err = cmd.Wait()
	group.Kill() // processes that it left behind
	e := ended{
		stdout: stdout.String(), stderr: stderr.String(), exit: cmd.ProcessState.ExitCode(),
		signal: group.Signal(),
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		e.err = context.Cause(ctx)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		e.err = err
	}
	return e, nil
}

// Words splits a command line into words by the quoting rules of a shell: backslash, single and double quotes. It runs
// nothing and expands nothing. An unquoted character that is special to a shell is an error.
func Words(line string) ([]string, error) {
	l := shellwords.Split(line, true)
	switch {
	case l.Special != 0:
		return nil, fmt.Errorf("parse command %s: %q requires a shell. Quote it, or use sh -c '…'", line,
			string(l.Special))
	case l.Open == '\\':
		return nil, fmt.Errorf("parse command %s: trailing backslash", line)
	case l.Open != 0:
		return nil, fmt.Errorf("parse command %s: unclosed quote", line)
	}
	return l.Words, nil
}

// quote writes words so that [Words] returns the same ones.
func quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellwords.Quote(w)
	}
	return strings.Join(out, " ")
}
