package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Narrator prints what happens as it happens.
type Narrator struct {
	Out io.Writer

	mu       sync.Mutex // questions come while calls run
	speaking bool
	titles   map[string]string // of calls, by ID
}

// Say prints a line.
func (n *Narrator) Say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.speaking {
		fmt.Fprintln(n.Out)
		n.speaking = false
	}
	fmt.Fprintf(n.Out, format+"\n", args...)
}

// speak prints the model's words as they come.
func (n *Narrator) speak(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.speaking {
		fmt.Fprint(n.Out, "recorded  ")
		n.speaking = true
	}
	fmt.Fprint(n.Out, strings.ReplaceAll(text, "\n", "\n          "))
}

// Event prints what the agent does.
func (n *Narrator) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.Said:
		if text, ok := e.Event.(model.Text); ok {
			n.speak(string(text))
		}
	case agent.Step:
		if e.Stage == tool.Running {
			n.running(e.Request)
		}
	case agent.Responded: // in the order of the calls, which ran at the same time
		for _, o := range e.Outcomes {
			n.ended(o)
		}
	}
}

// running records the title of a call.
func (n *Narrator) running(r tool.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.titles == nil {
		n.titles = map[string]string{}
	}
	n.titles[r.Call.ID] = r.Declaration.Title() + ": " + r.Description
}

func (n *Narrator) title(c tool.Call) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.titles[c.ID]
}

// maxLines is how many lines of a result are printed.
const maxLines = 12

func (n *Narrator) ended(o tool.Outcome) {
	if title := n.title(o.Call); title != "" {
		n.Say("real      %s", title)
	}
	if o.Error != nil {
		n.Say("          %s: %s", o.Status, strings.ReplaceAll(tool.Visible(o.Error.Message), "\n", "\n          "))
		return
	}
	text := o.Result.Text()
	switch shown := o.Result.Display.(type) {
	case tool.FileDiff: // it was seen in the question
		return
	case todo.List:
		text = console.Checklist(shown, "")
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == maxLines {
			n.Say("            … %d more lines", len(lines)-i)
			break
		}
		n.Say("            %s", tool.Visible(line))
	}
}

// Answer approves a call in place of a user, and shows that it did.
func (n *Narrator) Answer(_ context.Context, q *approval.Question) (tool.Decision, error) {
	text := console.Drawn(q, nil, cell.Line.String) + "\nAllow? yes (answered by the demo)"
	n.Say("question  %s", strings.ReplaceAll(text, "\n", "\n          "))
	return tool.Decision{Verdict: tool.Allow}, nil
}
