package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// tailLines is how many lines of a running call's output are shown.
const tailLines = 3

// hintWidth is how wide a terminal is that shows the key for a running command beside it.
const hintWidth = 60

// maxFailure is the number of bytes of an error that are laid out: only the first lines are shown.
const maxFailure = 8 << 10

// callList is the calls that have not been printed yet, in the order of the model's answer; those of subagents follow
// in the order of their first event. A call is printed when it and all before it are done.
type callList struct {
	calls []*call
}

// call is a call of a tool.
type call struct {
	by, id  string
	title   string
	what    string
	began   time.Time // zero: it doesn't run yet
	trying  bool      // it runs where nothing lasts
	movable bool      // it is a command that can be moved to the background
	output  []string
	outcome *tool.Outcome // nil: it is not done
}

// step shows a step of a call.
func (s *Screen) step(e tool.Event) {
	c := s.calls.find(e.Request)
	switch e.Stage {
	case tool.Trying, tool.Running:
		c.began = s.o.Now()
		c.trying = e.Stage == tool.Trying
		c.movable = !c.trying && e.Request.Declaration.Kind == tool.Execute
	case tool.Asking:
		if c.trying { // it has ended: its effects need approval
			c.began, c.trying = time.Time{}, false
		}
	case tool.Showing:
		if text, ok := e.Display.(tool.Literal); ok {
			c.show(string(text))
		}
	case tool.Withdrawn:
		s.withdraw(e.Request.Call)
	case tool.Done:
		c.outcome = e.Outcome
		s.todos.take(e)
		s.calls.flush(s)
	}
}

// find returns the entry of a call, a new one for its first event.
func (l *callList) find(r tool.Request) *call {
	i := l.position(r.Call)
	if i == len(l.calls) {
		l.calls = append(l.calls, &call{by: r.Call.By, id: r.Call.ID, title: visible(r.Call.Name)})
	}
	c := l.calls[i]
	if r.Description != "" { // an event that ends a call doesn't repeat it
		c.title, c.what = visible(r.Declaration.Title()), about(r)
	} else if c.what == "" && r.Declaration.Name != "" { // it failed before it was known what it would do
		c.title = visible(r.Declaration.Title())
	}
	return c
}

// position is the place of a call in the list; after all others if it isn't in it.
func (l *callList) position(t tool.Call) int {
	i := slices.IndexFunc(l.calls, func(c *call) bool { return c.by == t.By && c.id == t.ID })
	if i < 0 {
		return len(l.calls)
	}
	return i
}

func (c *call) show(text string) {
	lines := cell.CleanLines(strings.Trim(text, "\n"))
	c.output = lines[max(0, len(lines)-tailLines):]
}

// flush prints the calls at the start of the list that are done. Those of subagents are folded into the call that runs
// them.
func (l *callList) flush(s *Screen) {
	for len(l.calls) > 0 && l.calls[0].outcome != nil {
		c := l.calls[0]
		l.calls = l.calls[1:]
		s.transcript.add(c.item())
		if c.by != "" {
			continue
		}
		s.print(c.lines(s.width())...)
	}
}

// tried reports whether a command runs where nothing lasts.
func (l *callList) tried() bool {
	return slices.ContainsFunc(l.calls, func(c *call) bool { return c.trying && c.outcome == nil })
}

// settle prints what is left: the turn has ended.
func (l *callList) settle(s *Screen) {
	l.calls = slices.DeleteFunc(l.calls, func(c *call) bool { return c.outcome == nil })
	l.flush(s)
}

// lines are a finished call: a line, and why it failed.
func (c *call) lines(width int) []cell.Line {
	head := append(cell.Line{callMark(c.outcome.Status)}, c.name()...)
	if sum := c.summary(); sum != "" {
		head = append(head, cell.Span{Text: "  " + sum, Style: cell.Dim})
	}
	out := []cell.Line{head.Right(took(c.outcome.Duration), width)}
	if c.outcome.Error != nil {
		message := c.outcome.Error.Message
		if len(message) > maxFailure {
			message = strings.ToValidUTF8(message[:maxFailure], "") + "…"
		}
		for _, l := range cell.CleanLines(message) {
			out = append(out, cell.Wrap(cell.Line{{Text: "  " + l, Style: cell.Dim}}, width, cell.Text("  "))...)
		}
		if len(out) > 8 {
			out = append(out[:8], cell.Styled(fmt.Sprintf("  … %d more lines", len(out)-8), cell.Dim))
		}
	}
	return out
}

// name is the tool and what the call is about.
func (c *call) name() cell.Line { return naming(c.title, c.what) }

// naming is a tool and what a call of it is about. If that starts with the tool's verb ("ReadFile", "read greet.sh";
// "WebFetch", "fetch URL"), the verb alone is the name. A verb has three letters or more: the command "sh check.sh"
// isn't one of "Shell".
func naming(title, what string) cell.Line {
	verb, rest, _ := strings.Cut(what, " ")
	verb = strings.TrimSuffix(verb, ":")
	if n := len(verb); n > 2 && n <= len(title) {
		for _, name := range []string{title[:n], title[len(title)-n:]} {
			if strings.EqualFold(name, verb) {
				return cell.Line{{Text: name, Style: cell.Bold}, {Text: " " + strings.TrimLeft(rest, ": ")}}
			}
		}
	}
	return cell.Line{{Text: title, Style: cell.Bold}, {Text: " " + what}}
}

// about is what a call does. Of a command it is the command.
func about(r tool.Request) string {
	what := visible(r.Description)
	if r.Declaration.Kind == tool.Execute {
		what = strings.TrimPrefix(what, "run ")
	}
	return what
}

// summary is the result in a few words.
func (c *call) summary() string {
	o := c.outcome
	switch d := o.Result.Display.(type) {
	case tool.FileDiff:
		if d.Stat != nil && o.Error == nil {
			return fmt.Sprintf("+%d −%d", d.Stat.ModelAddedLines, d.Stat.ModelRemovedLines)
		}
	case tool.Markdown:
		text := strings.TrimSpace(string(d))
		if o.Error == nil && !strings.Contains(text, "\n") && len(text) <= 60 && !strings.EqualFold(c.what, text) {
			return visible(text)
		}
	}
	return ""
}

// took is how long a call took, if that is worth showing.
func took(d time.Duration) cell.Line {
	if d < 50*time.Millisecond {
		return nil
	}
	return cell.Styled(humanize.Duration(d), cell.Dim)
}

// live are the lines of the calls that run. background is the key that moves a command to the background.
func (l *callList) live(now time.Time, width int, background string) []cell.Line {
	var out []cell.Line
	for _, c := range l.calls {
		if c.began.IsZero() && c.outcome == nil {
			continue
		}
		indent := ""
		if c.by != "" {
			if c.outcome != nil {
				continue
			}
			indent = strings.Repeat("    ", 1+strings.Count(c.by, "/"))
		}
		mark := cell.Span{Text: indent + "◐ ", Style: cell.Cyan}
		var right cell.Line
		if c.outcome != nil {
			mark = cell.Span{Text: indent + "● ", Style: cell.Green}
		} else {
			right = cell.Styled(humanize.Seconds(now.Sub(c.began)), cell.Dim)
			if c.movable && background != "" && width >= hintWidth {
				right = append(right, cell.Span{Text: "   " + background + " background", Style: cell.Dim})
			}
		}
		out = append(out, append(cell.Line{mark}, c.name()...).Right(right, width))
		if c.outcome == nil {
			for _, o := range c.output {
				out = append(out, cell.Styled(indent+"    "+o, cell.Dim).Cut(width))
			}
		}
	}
	return out
}
