package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// demo prints what happens as it happens.
type demo struct {
	env      Env
	scratch  string // everything is in it
	work     string
	page     pageURL
	mu       sync.Mutex // questions come while calls run
	speaking bool
	titles   map[string]string // of running calls, by agent and id
}

// quiet is the environment of a machine with nothing configured: the demo is the same everywhere.
func (d *demo) quiet() Env {
	env := d.env
	env.Home = filepath.Join(d.scratch, "home")
	path := d.env.Getenv("PATH")
	env.Getenv = func(string) string { return "" }
	env.Terminal = true // the demo answers what it asks
	env.Environ = []string{"PATH=" + path, "HOME=" + env.Home, "LC_ALL=C"}
	return env
}

func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.speaking {
		fmt.Fprintln(d.env.Stdout)
		d.speaking = false
	}
	fmt.Fprintf(d.env.Stdout, format+"\n", args...)
}

// speak prints the model's words as they come.
func (d *demo) speak(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.speaking {
		fmt.Fprint(d.env.Stdout, "recorded  ")
		d.speaking = true
	}
	fmt.Fprint(d.env.Stdout, strings.ReplaceAll(text, "\n", "\n          "))
}

func (d *demo) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Said:
		if text, ok := e.Event.(model.Text); ok {
			d.speak(string(text))
		}
	case agent.Step:
		if e.Stage == tool.Running {
			d.running(e.Request)
		}
	case agent.Responded: // in the order of the calls, which ran at the same time
		for _, o := range e.Outcomes {
			d.ended(o)
		}
	}
}

// running records the title of a call. That of a subagent is printed at once, above what the subagent does.
func (d *demo) running(r tool.Request) {
	title := r.Declaration.Title() + ": " + r.Description
	if r.Declaration.Needs == tool.NeedsModel {
		d.say("real      %s", title)
		title = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.titles[r.Call.By+"/"+r.Call.ID] = title
}

func (d *demo) title(c tool.Call) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.titles[c.By+"/"+c.ID]
}

// below prints what a subagent has done.
func (d *demo) below(m agent.Member, e agent.Event) {
	if r, ok := e.(agent.Responded); ok {
		for _, o := range r.Outcomes {
			d.say("            %s  %s", m.Path, d.title(o.Call))
		}
	}
}

// mostLines is how many lines of a result are printed.
const mostLines = 12

func (d *demo) ended(o tool.Outcome) {
	if title := d.title(o.Call); title != "" {
		d.say("real      %s", title)
	}
	if o.Error != nil {
		d.say("          %s: %s", o.Status, tool.Visible(o.Error.Message))
		return
	}
	text := o.Result.Text()
	switch shown := o.Result.Display.(type) {
	case tool.FileDiff: // it was seen in the question
		return
	case builtin.TodoList:
		text = checklist(shown, "")
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == mostLines {
			d.say("            … %d more lines", len(lines)-i)
			break
		}
		d.say("            %s", tool.Visible(line))
	}
}

// answer approves a call in place of a user, and shows that it did.
func (d *demo) answer(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	text := question(r, why, nil, false) + "\nAllow? yes (answered by the demo)"
	d.say("question  %s", strings.ReplaceAll(text, "\n", "\n          "))
	return tool.Decision{Verdict: tool.Allow}, nil
}

// check compares the files with the task.
func (d *demo) check() error {
	for name, want := range demoEnd {
		got, err := os.ReadFile(filepath.Join(d.work, name))
		if err != nil || string(got) != want {
			return exitf(exitError, "demo failed: %s doesn't have the expected content (did you deny a step?)", name)
		}
	}
	return nil
}
