package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
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
// in the order of their first event. A call is printed when it and all before it are done, apart from those of
// subagents.
type callList struct {
	calls []*call
}

// call is a call of a tool.
type call struct {
	by, id string
	task   string // the subagent that it runs, as in the by of the subagent's calls; "": none, or not known yet
	made   int    // calls of that subagent
	title  string
	what   string
	// described is what errors call it
	described string
	began     time.Time // zero: it doesn't run yet
	trying    bool      // it runs in a trial
	movable   bool      // it is a command that can be moved to the background
	code      cell.Line // what, colored, if it is a command
	output    []string
	outcome   *tool.Outcome // nil: it is not done
	shown     bool          // a question showed what it did
	left      []cell.Line   // what of it was not approved
}

// Calls are the calls of a prompt without a conversation. The zero value has none.
type Calls struct{ list callList }

// Step takes a step of a call. It returns the lines of calls that are done: what each is, and why it failed.
func (c *Calls) Step(e tool.Event, now time.Time, width int) []cell.Line {
	c.list.step(e, now).shown = true
	var out []cell.Line
	c.list.flush(func(one *call) {
		if one.by == "" {
			out = append(out, one.lines(layout{width: width, output: OutputLines})...)
		}
	})
	return out
}

// Live are the lines of the calls that run.
func (c *Calls) Live(now time.Time, width int) []cell.Line { return c.list.live(now, width, "") }

// step shows a step of a call.
func (s *Screen) step(e tool.Event) {
	if s.calls.step(e, s.o.Now()); e.Stage == tool.Done {
		s.todos.take(e)
		s.flushCalls()
	}
}

// flushCalls prints calls that are done, and adds them to the transcript.
func (s *Screen) flushCalls() {
	s.calls.flush(func(c *call) {
		if c.by == "" {
			s.print(c.lines(s.layout())...)
		}
		s.transcript.add(c.item())
	})
}

// settleCalls prints what is left: the turn has ended.
func (s *Screen) settleCalls() {
	s.calls.calls = slices.DeleteFunc(s.calls.calls, func(c *call) bool { return c.outcome == nil })
	s.flushCalls()
}

// step notes a step of a call. Nothing follows tool.Withdrawn: the context of the question ends, and the event may come
// after the next question about the call.
func (l *callList) step(e tool.Event, now time.Time) *call {
	c := l.find(e.Request)
	switch e.Stage {
	case tool.Trying, tool.Running:
		c.began = now
		c.trying = e.Stage == tool.Trying
		c.movable = !c.trying && e.Request.Declaration.Kind == tool.Execute
	case tool.Asking:
		if c.trying { // it has ended: its effects need approval
			c.began, c.trying = time.Time{}, false
		}
	case tool.Showing:
		switch d := e.Display.(type) {
		case tool.Literal:
			c.show(string(d))
		case agent.TaskDisplay:
			c.task, c.made = visible(d.Path), d.Summary.Calls
		}
	case tool.Done:
		c.outcome = e.Outcome
		if d, ok := e.Outcome.Result.Display.(agent.TaskDisplay); ok {
			c.task = visible(d.Path)
		}
	}
	return c
}

// find returns the entry of a call, a new one for its first event.
func (l *callList) find(r tool.Request) *call {
	i := l.position(r.Call)
	if i == len(l.calls) {
		l.calls = append(l.calls, &call{by: r.Call.By, id: r.Call.ID, title: visible(r.Call.Name)})
	}
	c := l.calls[i]
	if r.Description != "" { // an event that ends a call doesn't repeat it
		c.title, c.what, c.described = visible(r.Declaration.Title()), about(r), r.Description
		if c.code = nil; r.Declaration.Kind == tool.Execute && strings.HasPrefix(r.Description, "run ") {
			c.code = markdown.Highlight([]string{c.what}, "sh")[0]
		}
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
	c.output = nil
	if text = strings.Trim(text, "\n"); text != "" {
		lines := cell.CleanLines(text)
		c.output = lines[max(0, len(lines)-tailLines):]
	}
}

// flush removes the calls at the start of the list that are done, and gives them to take: after a call that runs a
// subagent, those of the subagent. A background subagent's call that runs doesn't hold up others.
func (l *callList) flush(take func(*call)) {
	for i := 0; i < len(l.calls); {
		c := l.calls[i]
		if c.outcome == nil && c.by == "" {
			return
		}
		if c.outcome == nil {
			i++
			continue
		}
		l.calls = slices.Delete(l.calls, i, i+1)
		take(c)
		l.calls = slices.DeleteFunc(l.calls, func(o *call) bool {
			own := o.outcome != nil && c.runs(o)
			if own {
				take(o)
			}
			return own
		})
	}
}

// runs reports whether a call is one of the subagent that c runs, or of one below it.
func (c *call) runs(o *call) bool {
	return c.task != "" && (o.by == c.task || strings.HasPrefix(o.by, c.task+"/"))
}

// tree are the calls with those of a subagent below the call that runs it: n of them. Calls of background subagents,
// which no call waits for, follow.
func (l *callList) tree() (out []*call, n int) {
	var add func(by string)
	add = func(by string) {
		for _, c := range l.calls {
			if c.by == by {
				if out = append(out, c); c.task != "" {
					add(c.task)
				}
			}
		}
	}
	add("")
	n = len(out)
	for _, c := range l.calls {
		if n < len(l.calls) && !slices.Contains(out[:n], c) {
			out = append(out, c)
		}
	}
	return out, n
}

// tried reports whether a command runs in a trial.
func (l *callList) tried() bool {
	return slices.ContainsFunc(l.calls, func(c *call) bool { return c.trying && c.outcome == nil })
}

// name is the tool and what the call is about.
func (c *call) name() cell.Line {
	if c.code != nil {
		return append(cell.Line{{Text: c.title + " ", Style: cell.Bold}}, c.code...)
	}
	return naming(c.title, c.about())
}

// about is what the call does. Of a task it starts with the subagent's name, which questions have too: "explore-1: who
// calls Close?".
func (c *call) about() string {
	if c.task == "" {
		return c.what
	}
	role := c.task[strings.LastIndexByte(c.task, '/')+1:]
	role = role[:max(0, strings.LastIndexByte(role, '-'))]
	return c.task + ": " + strings.TrimPrefix(c.what, role+": ")
}

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
		return ""
	case agent.TaskDisplay:
		return humanize.Count(d.Summary.Calls, "call")
	case tool.Markdown:
		text := strings.TrimSpace(string(d))
		if o.Error == nil && !strings.Contains(text, "\n") && len(text) <= 60 && !strings.EqualFold(c.what, text) {
			return visible(text)
		}
	}
	return o.Changes.Count()
}

// trying says that a command runs in a trial.
func trying(width int) string {
	if width < hintWidth {
		return "trying   "
	}
	return "trying, nothing on this machine is kept yet   "
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
	calls, n := l.tree()
	for i, c := range calls {
		another := func(o *call) bool { return o.by == c.by && !(o.began.IsZero() && o.outcome == nil) }
		switch {
		case c.began.IsZero() && c.outcome == nil:
			continue
		case c.by != "" && c.outcome != nil && (i >= n || slices.ContainsFunc(calls[i+1:n], another)):
			continue // the last call of a subagent stays until there is another
		}
		indent := ""
		if c.by != "" {
			indent = strings.Repeat("    ", 1+strings.Count(c.by, "/"))
		}
		mark := cell.Span{Text: indent + "◐ ", Style: cell.Cyan}
		var right cell.Line
		if c.outcome != nil {
			mark = callMark(c.outcome.Status)
			mark.Text, right = indent+mark.Text, took(c.outcome.Duration)
		} else {
			right = cell.Styled(humanize.Seconds(now.Sub(c.began)), cell.Dim)
			if c.trying {
				right = append(cell.Styled(trying(width), cell.Dim), right...)
			}
			switch {
			case c.made > 0:
				right = append(right, cell.Span{Text: "   " + humanize.Count(c.made, "call"), Style: cell.Dim})
			case c.movable && background != "" && width >= hintWidth:
				right = append(right, cell.Span{Text: "   " + background + " background", Style: cell.Dim})
			}
		}
		line := append(cell.Line{mark}, c.name()...)
		if i >= n {
			line = append(line, cell.Span{Text: " (" + visible(c.by) + ")", Style: cell.Dim})
		}
		out = append(out, line.Right(right, width))
		if c.outcome == nil {
			for _, o := range c.output {
				out = append(out, cell.Styled(indent+"    "+o, cell.Dim).Cut(width))
			}
		}
	}
	return out
}
