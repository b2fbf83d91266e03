package adze_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/tool"
)

// stdio replaces the process's stdin and stderr for a test.
func stdio(t *testing.T, in, out *os.File) {
	stdin, stderr := os.Stdin, os.Stderr
	os.Stdin, os.Stderr = in, out
	t.Cleanup(func() { os.Stdin, os.Stderr = stdin, stderr })
}

var aWrite = tool.Request{Invocation: tool.Invocation{Description: "write \x1b[2Jnote.txt", Confirm: tool.FileDiff{Path: "note.txt", Diff: "+hello\n"}}}

// Only y or yes, typed after the question, approves a call.
func TestOnTerminal(t *testing.T) {
	p := ptytest.Open(t)
	stdio(t, p.TTY, p.TTY)
	asked := 0
	ask := func(ctx context.Context, then func()) (tool.Decision, error) {
		asked++
		go func(n int) {
			p.Await("Allow? [y/n]", n)
			then()
		}(asked)
		return adze.OnTerminal(ctx, aWrite, tool.Decision{Verdict: tool.Ask, Reason: "it changes a file"})
	}
	for typed, want := range map[string]tool.Verdict{
		"y\n": tool.Allow, " Yes \n": tool.Allow, "n\n": tool.Deny, "\n": tool.Deny, "yy\n": tool.Deny, "\x04": tool.Deny, "yes, but\n": tool.Deny,
	} {
		d, err := ask(t.Context(), func() { p.Type(typed) })
		if (d.Verdict == tool.Allow) != (want == tool.Allow) || errors.Is(err, io.EOF) != (typed == "\x04") {
			t.Errorf("%q: %v %v", typed, d.Verdict, err)
		}
	}
	p.Type("y\n") // no answer to the next question
	if d, err := ask(t.Context(), func() { p.Type("n\n") }); d.Verdict == tool.Allow || err != nil {
		t.Errorf("typed before: %v %v", d.Verdict, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if d, err := ask(ctx, cancel); d.Verdict == tool.Allow || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v %v", d.Verdict, err)
	}
	for _, part := range []string{"Write \\x1b[2Jnote.txt", "Needs approval: it changes a file", "+hello"} {
		if !strings.Contains(p.Raw(), part) {
			t.Errorf("the question lacks %q:\n%s", part, p.Shown())
		}
	}
	// A second agent's question waits for the answer to the first.
	first, second := make(chan tool.Decision), make(chan tool.Decision)
	for _, c := range []chan tool.Decision{first, second} {
		go func() {
			d, _ := adze.OnTerminal(t.Context(), aWrite, tool.Decision{Verdict: tool.Ask})
			c <- d
		}()
	}
	allowed := 0
	for _, typed := range []string{"y\n", "n\n"} {
		asked++
		p.Await("Allow? [y/n]", asked)
		if n := strings.Count(p.Raw(), "Allow? [y/n]"); n != asked {
			t.Errorf("%d questions are open", n-asked+1)
		}
		p.Type(typed)
		d := tool.Decision{}
		select {
		case d = <-first:
		case d = <-second:
		}
		if d.Verdict == tool.Allow {
			allowed++
		}
	}
	if allowed != 1 {
		t.Errorf("%d of two calls were approved", allowed)
	}
}

// A y that comes from a pipe or a file isn't the user's.
func TestNoTerminal(t *testing.T) {
	p := ptytest.Open(t)
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := w.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for name, files := range map[string][2]*os.File{"stdin": {in, p.TTY}, "stderr": {p.TTY, w}} {
		stdio(t, files[0], files[1])
		d, err := adze.OnTerminal(t.Context(), aWrite, tool.Decision{Verdict: tool.Ask})
		if d.Verdict == tool.Allow || !errors.Is(err, tool.ErrDenied) || !strings.Contains(err.Error(), "there is no terminal") {
			t.Errorf("%s: %v %v", name, d.Verdict, err)
		}
	}
}

// Each call and each notice has a line of its own, and texts can't control the terminal.
func TestPrint(t *testing.T) {
	failed := errors.New("failed")
	var events iter.Seq2[adze.Event, error] = func(yield func(adze.Event, error) bool) {
		done := adze.Call{Event: tool.Event{Stage: tool.Done, Outcome: &tool.Outcome{Name: "edit", Status: tool.StatusDenied}}}
		for _, e := range []adze.Event{
			adze.Thought("hm"), adze.Text("First"), adze.Text(", I"), adze.Call{}, done, done, adze.Notice("again"), adze.Text("Not\x1b[2J now."), adze.End{Answer: agent.Answer{Text: "x"}},
		} {
			if !yield(e, nil) {
				return
			}
		}
		yield(nil, failed)
	}
	var out bytes.Buffer
	want := "First, I\nedit: denied\nedit: denied\nagain\nNot\\x1b[2J now.\n"
	if err := adze.Print(&out, events); !errors.Is(err, failed) || out.String() != want {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := adze.Print(full{}, events); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
