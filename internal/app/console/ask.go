package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/tool"
)

// Asker asks the user, one question at a time.
type Asker struct {
	screen *Screen
	out    io.Writer // of the question that is open
	in     tty.Answers
	editor string
	turn   chan struct{} // whose question it is
}

// NewAsker asks on a screen and reads answers from stdin.
func NewAsker(in Streams, s *Screen) *Asker {
	return &Asker{screen: s, in: tty.NewAnswers(in.Stdin), editor: in.Editor(), turn: make(chan struct{}, 1)}
}

// Ask is the [approval.Front] of a plain terminal.
func (t *Asker) Ask(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return tool.Decision{}, ctx.Err()
	}
	out, answered := t.screen.ask()
	defer answered()
	t.out = out
	fmt.Fprintf(t.out, "\n%s\n", Drawn(q, understood(q), t.screen.text))
	return approval.Dialog{
		Style: approval.Lines, Out: out, Read: t.read, Editor: t.editor,
		Fail: func(err error) { fmt.Fprintf(out, "adze: %v\n", err) },
		Run: func(cmd *exec.Cmd) error {
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
			return cmd.Run()
		},
	}.Ask(ctx, q)
}

// read prints the last line of a prompt and reads what the user types after that.
func (t *Asker) read(ctx context.Context, text string) (string, error) {
	typed, err := tty.Prompt(ctx, t.out, t.in, text)
	if err != nil {
		fmt.Fprintln(t.out, "(no answer)")
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return typed, nil
}

// understood returns the policy's reading of a command, where it adds something to the line.
func understood(q *approval.Question) []string {
	var lines []string
	for _, c := range q.Understood() {
		lines = append(lines, c.What)
	}
	if q.Command != nil && q.Effects == nil && len(lines) == 1 && lines[0] == strings.TrimSpace(q.Command.Line) {
		return nil
	}
	return lines
}

// Drawn returns the text of a permission prompt without its choices: what the call does, why it needs approval, and
// the facts and warnings to weigh.
func Drawn(q *approval.Question, understood []string, text func(cell.Line) string) string {
	var b strings.Builder
	r := q.Request
	what, details, facts := r.Description, "", ""
	if c := q.Command; c != nil {
		if line := tool.Visible(c.Line); r.MustAsk && q.Effects == nil {
			details = indented(line)
		} else {
			what = strings.ReplaceAll(line, "\n", "\n  ")
		}
		if c.Purpose != "" {
			facts = "  The model says: " + strings.Join(strings.Fields(tool.Visible(c.Purpose)), " ") + "\n"
		}
	}
	switch c := r.Confirm.(type) {
	case nil:
	case tool.Command:
		facts += sandboxFact(c)
	case tool.Effects:
		details = EffectLines(c)
		for _, one := range c.Changes {
			if one.Diff != "" {
				details += "  " + tool.Visible(one.Path) + "\n" + diffText(one.Diff, text)
			}
		}
	case tool.FileDiff:
		details = diffText(c.Diff, text)
	case tool.Literal:
		details = literalText(q, c)
	default:
		details = tool.Visible(c.Markdown()) + "\n"
	}
	fmt.Fprintf(&b, "%s  %s\n%s", r.Declaration.Title(), what, details)
	if r.Call.By != "" {
		fmt.Fprintf(&b, "  Requested by: %s\n", tool.Visible(r.Call.By))
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "  Needs approval: %s\n", tool.Visible(q.Reason))
	}
	if len(understood) > 0 {
		fmt.Fprintf(&b, "  Understood as:\n    %s\n", strings.Join(understood, "\n    "))
	}
	return strings.TrimRight(b.String()+facts+Warnings(q.Warnings), "\n")
}

// diffText is a diff as a conversation shows it, with whole lines.
func diffText(diff string, text func(cell.Line) string) string {
	var b strings.Builder
	for _, l := range tui.DiffLines(diff, 0) {
		b.WriteString(text(l) + "\n")
	}
	return b.String()
}

// EffectLines is what a tried command did.
func EffectLines(f tool.Effects) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", f.Headline())
	for _, r := range f.Rows() {
		label := r.Label
		for _, c := range r.Cells {
			fmt.Fprintf(&b, "    %-9s %s\n", label, c)
			label = ""
		}
	}
	return b.String()
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }

// literalText is what a text shows besides the call's description.
func literalText(q *approval.Question, l tool.Literal) string {
	text := tool.Visible(strings.TrimRight(q.Beyond(l), "\n"))
	if text == "" {
		return ""
	}
	return indented(text)
}

func sandboxFact(c tool.Command) string {
	if c.Sandbox == "" {
		return ""
	}
	return "  Sandbox: " + c.Sandbox + "\n"
}

func Warnings(ws []string) string {
	s := ""
	for _, w := range ws {
		s += "  Warning: " + tool.Visible(w) + "\n"
	}
	return s
}

// Preview is what a call would do, for a call that isn't run.
func Preview(q *approval.Question) string {
	text := ""
	switch c := q.Request.Confirm.(type) {
	case nil:
	case tool.FileDiff:
		text = tool.Visible(c.Diff)
	case tool.Command:
		text = indented(tool.Visible(c.Line)) + sandboxFact(c)
	case tool.Literal:
		text = literalText(q, c)
	default:
		text = indented(tool.Visible(strings.TrimRight(c.Markdown(), "\n")))
	}
	return text + Warnings(q.Warnings)
}
