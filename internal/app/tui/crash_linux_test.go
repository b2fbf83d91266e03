package tui

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/dev/ptytest"
)

// brokenHost panics in one of its methods.
type brokenHost struct{ where string }

func (h brokenHost) broken(where string) {
	if h.where == where {
		panic("broken\x1b]0;pwned\x07 " + where)
	}
}

func (h brokenHost) Run(context.Context, string) (Reply, error) { h.broken("run"); return Reply{}, nil }
func (h brokenHost) Retry(context.Context) error                { return nil }
func (h brokenHost) Wake() <-chan struct{}                      { return nil }
func (h brokenHost) Continue(context.Context) error             { return nil }
func (h brokenHost) Status() Status                             { h.broken("status"); return Status{Mode: "default"} }
func (h brokenHost) Todos() todo.List                           { return nil }
func (h brokenHost) NextMode()                                  { h.broken("mode") }
func (h brokenHost) Running() []string                          { return nil }
func (h brokenHost) Background() []string                       { return nil }
func (h brokenHost) Aside(string) bool                          { return false }
func (h brokenHost) Attach(string) (label, why string)          { return "", "" }
func (h brokenHost) StatusLine(string) *StatusLine              { return nil }
func (h brokenHost) Clipboard(context.Context) (label, text string, err error) {
	return "", "", nil
}
func (h brokenHost) Complete(_ context.Context, _ string, show func([]Candidate)) {
	h.broken("complete")
	show(nil)
}

// A panic in the screen's goroutine, or in one that it started, restores the terminal and is an error that names the place.
func TestPanic(t *testing.T) {
	for where, keys := range map[string]string{"status": "", "mode": "\x1b[Z", "complete": "/", "run": "go\r", "lookup": ""} {
		t.Run(where, func(t *testing.T) {
			p := ptytest.Open(t)
			before, err := unix.IoctlGetTermios(int(p.TTY.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			h := brokenHost{where}
			s := New(Options{In: p.TTY, Out: p.TTY, Host: h, Header: []Row{{Text: "head"}}, Lookup: func(context.Context) []Row { h.broken("lookup"); return nil }})
			ended := make(chan error, 1)
			go func() { ended <- s.Run(t.Context()) }()
			if where != "status" && where != "lookup" {
				p.Await("›", 1)
				p.Type(keys)
			}
			err = <-ended
			if err == nil || !strings.Contains(err.Error(), "internal error: broken�]0;pwned� "+where+" (crash_linux_test.go:") ||
				!strings.Contains(err.Error(), "The session is saved") {
				t.Errorf("the error is %v", err)
			}
			after, err := unix.IoctlGetTermios(int(p.TTY.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *after != *before {
				t.Errorf("the terminal is %+v, not %+v", after, before)
			}
			p.Await("\x1b[?2004l", 1)
		})
	}
}
