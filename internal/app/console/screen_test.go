package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/engine/proc/term"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// glass is a screen on a terminal, with a clock that the test turns.
type glass struct {
	*Screen
	painted bytes.Buffer
	clock   time.Time
}

func newGlass() *glass {
	g := &glass{clock: began}
	g.Screen = &Screen{
		w: &g.painted, out: &g.painted, echo: func(bool) {},
		now:  func() time.Time { return g.clock },
		size: func() (int, int) { return 40, 10 },
	}
	return g
}

// after draws the screen as it is a while later.
func (g *glass) after(d time.Duration) {
	g.clock = g.clock.Add(d)
	g.draw()
}

func (g *glass) shown() string {
	var lines []string
	s := term.New(func(line []byte, _ bool) { lines = append(lines, strings.TrimRight(string(line), " ")) })
	s.Write(g.painted.Bytes())
	s.Flush()
	return strings.Join(lines, "\n")
}

func (g *glass) wants(t *testing.T, when, want string) {
	t.Helper()
	if got := g.shown(); got != want {
		t.Fatalf("%s: the terminal shows\n%s\nwant\n%s\npainted: %q", when, got, want, g.painted.String())
	}
}

func step(stage tool.Stage, id string, change func(*tool.Event)) agent.Step {
	e := tool.Event{Stage: stage, Request: tool.Request{
		Call: tool.Call{ID: id}, Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		Invocation: tool.Invocation{Description: "run make"},
	}}
	if change != nil {
		change(&e)
	}
	return agent.Step{Event: e}
}

func ended(status tool.Status, took time.Duration, failure string) func(*tool.Event) {
	return func(e *tool.Event) {
		e.Request.Invocation = tool.Invocation{}
		e.Outcome = &tool.Outcome{Status: status, Duration: took}
		if failure != "" {
			e.Outcome.Error = &tool.Failure{Message: failure}
		}
	}
}

// A whole turn at a terminal: what is there at each moment.
func TestScreenOfATurn(t *testing.T) {
	g := newGlass()
	out := NewText(Streams{Terminal: true}, g.Screen, false)
	out.Event(agent.Began{Turn: 1})
	g.after(2 * time.Second)
	g.wants(t, "the model thinks", "∙ waiting for the model 2 s")
	out.Event(agent.Said{Event: model.Text("\n\nI look at")})
	g.wants(t, "the first words come", "I look at")
	out.Event(agent.Said{Event: model.Text(" it.")})
	g.after(1250 * time.Millisecond)
	g.wants(t, "it pauses", "I look at it.\n∙ waiting for the model 3 s")
	out.Event(agent.Said{Event: model.Text(" Now.\n\n")})
	g.wants(t, "it goes on", "I look at it. Now.")
	out.Event(agent.Called{Call: tool.Call{ID: "1"}})
	out.Event(step(tool.Running, "1", nil))
	out.Event(agent.Answered{})
	out.Event(step(tool.Showing, "1", func(e *tool.Event) { e.Display = tool.Literal("one\ntwo\nthree\nfour\n") }))
	g.after(time.Second)
	g.wants(t, "the command runs", "I look at it. Now.\n◐ Shell make                        1 s\n    two\n    three\n    four")
	g.Tell("adze: a note")
	g.wants(t, "a note comes", "I look at it. Now.\nadze: a note\n◐ Shell make                        1 s\n    two\n    three\n    four")
	out.Event(step(tool.Showing, "1", func(e *tool.Event) { e.Display = tool.Literal("five") }))
	g.after(0)
	g.wants(t, "the output is shorter", "I look at it. Now.\nadze: a note\n◐ Shell make                        1 s\n    five")

	question, answered := g.ask()
	fmt.Fprint(question, "Allow? ")
	out.Event(agent.Said{Event: model.Text("more words")})
	g.Tell("adze: another note")
	g.after(time.Second)
	g.wants(t, "a question is open", "I look at it. Now.\nadze: a note\nAllow?")
	fmt.Fprint(question, "y\n")
	answered()
	out.Event(agent.Called{})
	g.after(0)
	g.wants(t, "it is answered", "I look at it. Now.\nadze: a note\nAllow? y\nmore words\nadze: another note\n◐ Shell make                        2 s\n    five")

	out.Event(step(tool.Done, "1", ended(tool.StatusSuccess, 1200*time.Millisecond, "")))
	g.wants(t, "the command has ended", "I look at it. Now.\nadze: a note\nAllow? y\nmore words\nadze: another note\n● Shell make                      1.2 s")
	out.Event(agent.Said{Event: model.Text("The answer.\n\n")})
	if err := out.End(agent.Answer{Text: "The answer.\n\n"}, nil); err != nil {
		t.Fatal(err)
	}
	g.wants(t, "the end", "I look at it. Now.\nadze: a note\nAllow? y\nmore words\nadze: another note\n● Shell make                      1.2 s\nThe answer.")
}

// Of an error with several lines only the first was shown.
func TestScreenShowsAFailureWhole(t *testing.T) {
	g := newGlass()
	out := NewText(Streams{Terminal: true}, g.Screen, false)
	out.Event(step(tool.Running, "1", nil))
	out.Event(step(tool.Showing, "1", func(e *tool.Event) { e.Display = tool.Literal("main.go:3: oops") }))
	out.Event(step(tool.Done, "1", func(e *tool.Event) {
		ended(tool.StatusError, 0, "Command exited with code 2.\nIt has two lines.")(e)
		e.Outcome.Result.Output = "main.go:3: oops\n"
	}))
	out.Event(step(tool.Done, "2", ended(tool.StatusDenied, 0, "run x: denied by the user")))
	g.wants(t, "two calls failed", "✗ Shell make\n  Command exited with code 2.\n  It has two lines.\n    main.go:3: oops\n⊘ Shell    run x: denied by the user")
}

// A terminal that cannot be redrawn is only added to.
func TestScreenWithoutALiveArea(t *testing.T) {
	g := newGlass()
	g.size, g.out = nil, nil
	out := NewText(Streams{Terminal: true, Stdout: &g.painted}, g.Screen, false)
	out.Event(agent.Began{Turn: 1})
	out.Event(agent.Said{Event: model.Text("I look.")})
	out.Event(agent.Called{})
	out.Event(step(tool.Running, "1", nil))
	out.Event(step(tool.Showing, "1", func(e *tool.Event) { e.Display = tool.Literal("x") }))
	g.after(time.Second)
	out.Event(step(tool.Done, "1", func(e *tool.Event) {
		ended(tool.StatusSuccess, time.Second, "")(e)
		e.Outcome.Result.Display = todo.List{{Content: "look", Status: todo.Completed}}
	}))
	if err := out.End(agent.Answer{Text: "The answer."}, nil); err != nil {
		t.Fatal(err)
	}
	if want := "I look.\n● Shell make" + strings.Repeat(" ", 62) + "1.0 s\n  [x] look\nThe answer.\n"; g.painted.String() != want {
		t.Errorf("%q, want %q", g.painted.String(), want)
	}
}

// What is the same is not painted again, and a terminal that became narrower is cleaned all the same.
func TestScreenPaintsOnlyWhatChanges(t *testing.T) {
	g := newGlass()
	g.change(func(l *live, now time.Time) { runs("1", "make everything now", 0, "a")(l) })
	g.after(0)
	painted := g.painted.Len()
	g.after(10 * time.Millisecond)
	if g.painted.Len() != painted {
		t.Errorf("painted again: %q", g.painted.String()[painted:])
	}
	g.size = func() (int, int) { return 20, 10 }
	g.change(func(l *live, _ time.Time) { *l = live{} })
	g.after(0)
	if got := g.painted.String()[painted:]; got != "\r\x1b[2A\x1b[J" {
		t.Errorf("painted %q: the first of two lines takes two rows now", got)
	}
}
