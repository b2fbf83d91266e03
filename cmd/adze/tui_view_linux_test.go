package main

import (
	"encoding/base64"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adze-dev/adze/journal"
)

// copied waits until the program has set the clipboard, inside tmux also through it.
func (g *glass) copied(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	want := []string{"52;c;" + base64.StdEncoding.EncodeToString([]byte(text))}
	if ts.Getenv("TMUX") != "" {
		want = append(want, "tmux;\x1b\x1b]"+want[0])
	}
	g.until(ts, func() bool {
		sent := g.State().Sent
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(sent, w) })
	}, func() string { return "copying " + strconv.Quote(text) })
}

// mode waits for a private mode of the terminal.
func (g *glass) mode(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	g.until(ts, func() bool { return g.Mode(n) != neg }, func() string { return "mode " + args[0] })
}

// steady returns the scrollback and the screen above the prompt. What is in the prompt and below depends on the time:
// a hint of the turn that has just ended may still be there.
func (g *glass) steady() string {
	text := g.Text()
	return text[:strings.LastIndex(text, "\n───")+1]
}

// keep saves the scrollback and the screen.
func (g *glass) keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(g.steady()), 0o600))
}

// kept waits until the scrollback and the screen are as they were.
func (g *glass) kept(ts *testscript.TestScript, _ bool, args []string) {
	want := ts.ReadFile(args[0])
	g.until(ts, func() bool { return g.steady() == want }, func() string { return "the text of " + args[0] + ", which is\n" + want })
}

// holdSession has the newest closed session open until the test ends.
func holdSession(ts *testscript.TestScript) {
	all := journal.Sessions{Home: ts.Getenv("ADZE_HOME")}
	list, err := all.List()
	ts.Check(err)
	for _, i := range list {
		if i.State == journal.StateClosed {
			f, _, err := all.Open(i.ID)
			ts.Check(err)
			ts.Defer(func() { f.Close() })
			return
		}
	}
	ts.Fatalf("no session is closed")
}
