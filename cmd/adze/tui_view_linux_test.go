package main

import (
	"encoding/base64"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// until waits for a condition of the terminal.
func (g *glass) until(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(90 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s never happened:\n%s", what, g.shown())
		}
	}
}

// copied waits until the program has set the clipboard, inside tmux also through it.
func (g *glass) copied(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	want := []string{"52;c;" + base64.StdEncoding.EncodeToString([]byte(text))}
	if ts.Getenv("TMUX") != "" {
		want = append(want, "tmux;\x1b\x1b]"+want[0])
	}
	g.until(ts, "copying "+strconv.Quote(text), func() bool {
		sent := g.State().Sent
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(sent, w) })
	})
}

// mode waits for a private mode of the terminal.
func (g *glass) mode(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	g.until(ts, "mode "+args[0], func() bool { return g.Mode(n) != neg })
}

// steady is the scrollback and the screen without the status line, which has the time.
func (g *glass) steady() string {
	text := strings.TrimSuffix(g.Text(), "\n")
	return text[:strings.LastIndexByte(text, '\n')+1]
}

// keep saves the scrollback and the screen.
func (g *glass) keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(g.steady()), 0o600))
}

// kept waits until the scrollback and the screen are as they were.
func (g *glass) kept(ts *testscript.TestScript, _ bool, args []string) {
	want := ts.ReadFile(args[0])
	g.until(ts, "the text of "+args[0]+", which is\n"+want, func() bool { return g.steady() == want })
}
