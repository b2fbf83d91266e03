package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// ended returns the result of a command as the labeled lines that models know, and an error if it failed.
func (c *shellCall) ended(ctx context.Context, o proc.Outcome, kept string, quiet time.Duration) (tool.Result, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Command: %s\nDirectory: %s\nOutput: %s\n", c.request.Command, c.shown,
		orEmpty(strings.TrimRight(o.Output.String(), "\n")))
	how := fmt.Sprintf("Exit Code: %d", o.Exit)
	if o.Signal != 0 {
		how = fmt.Sprintf("Signal: %d (%v)", int(o.Signal), o.Signal)
	}
	fmt.Fprintf(&b, "%s\nDuration: %v\n", how, o.Duration.Round(time.Millisecond))
	if o.Output.Binary {
		b.WriteString("It printed binary data; redirect it to a file to inspect it.\n")
	}
	if kept != "" {
		b.WriteString(kept + "\n")
	}
	for _, line := range c.network.lines() {
		b.WriteString(line + "\n")
	}
	if note := hiddenNote(o, c.shell.ws.Project()); note != "" {
		b.WriteString(note + "\n")
	}
	if o.Leftover > 0 {
		fmt.Fprintf(&b, "It left %d processes running, which end with this session; start such things with "+
			"is_background.\n", o.Leftover)
	}
	err := c.failure(ctx, o, quiet)
	if err != nil && ctx.Err() == nil {
		b.WriteString(err.Error() + "\n")
	}
	if err != nil && o.Suspect != "" && ctx.Err() == nil && c.tries {
		without := "without the network"
		if c.network != nil {
			without = "with HTTP_PROXY as the only way to the network"
		}
		fmt.Fprintf(&b, "Likely blocked, because it was tried %s and where only the workspace can be written (%s).\n",
			without, o.Suspect)
	} else if o.Denied {
		fmt.Fprintf(&b, "Likely blocked by a deny rule: %s. %s.\n", o.Suspect, o.Remedy)
	} else if err != nil && o.Suspect != "" && ctx.Err() == nil {
		yes, why, stopped := c.again(ctx, c.live, o)
		switch {
		case yes:
			return c.withoutSandbox(ctx, why)
		case stopped != nil:
			err = stopped
		}
		b.WriteString(why + "\n")
	}
	if err == nil && o.Exit == 0 && o.Suspect != "" && !c.tries && !o.Denied {
		fmt.Fprintf(&b, "Parts of it were likely blocked by the %s sandbox (%s). To allow it, the user can %s.\n",
			o.Boxed, o.Suspect, o.Remedy)
	}
	if text := c.shell.sandboxes.denials.after(c.command.Sandbox); text != "" {
		b.WriteString(text + "\n")
	}
	if c.before != "" {
		b.WriteString(c.before + "\n")
	}
	notes := append(o.Notes, c.shell.sandboxes.notes(c.command.Sandbox)...)
	if c.tries {
		notes = append(notes, c.shell.sandboxes.above(c.request.Command)...)
	}
	for _, n := range append(c.shell.untold(notes), c.moves...) {
		b.WriteString("Note: " + n + "\n")
	}
	shown := o.Output.Tail
	if shown == "" {
		shown = o.Output.Head
	}
	if strings.TrimSpace(shown) == "" {
		shown = ending(o)
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(strings.TrimRight(b.String(), "\n"))},
		Display: tool.Literal(strings.TrimRight(shown, "\n")),
		Compare: ending(o) + "\n" + o.Output.String(), // without the duration and the path of the output's file
		Output:  o.Output.String(), Exit: o.Exit,
		Hosts: c.network.hosts(),
	}, err
}

// failure returns the error of a command that failed.
func (c *shellCall) failure(ctx context.Context, o proc.Outcome, quiet time.Duration) error {
	limit := c.request.Timeout
	switch {
	case ctx.Err() != nil && o.Ended != proc.Exited:
		return ctx.Err()
	case o.Ended == proc.TimedOut && quiet < 2*time.Second && o.Output.Lines > 1:
		return tool.Errorf(tool.ExecutionTimeout, "Command timed out after %d ms while it was still printing. If it "+
			"is a server, set is_background.", limit.Milliseconds())
	case o.Ended == proc.TimedOut:
		return tool.Errorf(tool.ExecutionTimeout, "Command timed out after %d ms. Raise timeout, or set is_background.",
			limit.Milliseconds())
	case o.Signal != 0:
		return tool.Errorf(Failure, "Command was killed by signal %d (%v).", int(o.Signal), o.Signal)
	case o.Exit == 0, o.Exit == 1 && answersByExit(c.request.Command):
		return nil
	}
	return tool.Errorf(Failure, "Command exited with code %d.", o.Exit)
}

// ending describes in a few words how a command ended.
func ending(o proc.Outcome) string {
	switch {
	case o.Ended == proc.TimedOut:
		return "timed out"
	case o.Signal != 0:
		return fmt.Sprintf("killed by signal %d (%v)", int(o.Signal), o.Signal)
	case o.Denied:
		return fmt.Sprintf("exit code %d, likely blocked by a deny rule", o.Exit)
	case o.Suspect != "":
		return fmt.Sprintf("exit code %d, likely blocked by the %s sandbox (%s)", o.Exit, o.Boxed, o.Suspect)
	}
	return fmt.Sprintf("exit code %d", o.Exit)
}

// answersByExit reports whether the command that determines the exit code is one that returns 1 for "no", such as grep.
// That is the last command of a plain pipeline.
func answersByExit(command string) bool {
	f, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil || len(f.Stmts) != 1 {
		return false
	}
	stmt := f.Stmts[0]
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe && pipe.Op != syntax.PipeAll {
			break
		}
		stmt = pipe.Y
	}
	if stmt.Negated || stmt.Background {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.TestClause:
		return true
	case *syntax.CallExpr:
		return len(cmd.Args) > 0 && slices.Contains([]string{"grep", "rg", "diff", "test", "["}, cmd.Args[0].Lit())
	}
	return false
}

func orEmpty(s string) string {
	if s == "" {
		return "(empty)"
	}
	return s
}

// stopped returns the limit that stopped a tried command, and the files that it couldn't read, for users.
func (c *shellCall) stopped(o proc.Outcome) (out []string) {
	const limit = 5
	if o.Limit != "" {
		out = append(out, "stopped: "+o.Limit)
	}
	if len(o.Hidden) > 0 {
		var hidden []string
		for _, path := range o.Hidden {
			hidden = append(hidden, names.Short(path, c.shell.ws.Project()))
		}
		out = append(out, "not readable: "+humanize.List(hidden, limit))
	}
	return out
}

// withheldNote returns a line with the variables that a failed command didn't get, first those that its text or output
// mentions.
func withheldNote(withheld []string, text string) []string {
	if len(withheld) == 0 {
		return nil
	}
	const limit = 10
	names := slices.Clone(withheld)
	sorted.By(names, func(a, b string) int {
		return cmp.Compare(strings.Count(text, b), strings.Count(text, a))
	})
	return []string{"Withheld environment variables: " + tool.Visible(humanize.List(names, limit)) +
		". The setting tools.env passes those that aren't credentials."}
}
