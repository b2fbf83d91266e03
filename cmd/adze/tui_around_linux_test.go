package main

import (
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// withAround adds the commands of stories about what is around a conversation.
//
//	background COLOR   the color that the terminal tells, before start: white, black, or none
//	focus in|out       the window gets or loses the focus
//	drop TEXT          pastes a text, as a terminal does with the path of a file that is dropped on it
//	raw BYTES          the terminal sends bytes, written as in a Go string
//	scribble BYTES     another program writes bytes onto the terminal, written as in a Go string; the cursor stays
//	title TEXT         waits until the window's title is a text
//	sent TEXT          waits until the program has sent an operating system command with a text; ! sent: it has not
//	bells N            waits until the bell has rung N times
//	style SGR TEXT     waits until a text on the screen has a style, such as 2 for dim and - for none
func withAround(cmds map[string]func(*testscript.TestScript, bool, []string)) map[string]func(*testscript.TestScript, bool, []string) {
	maps.Copy(cmds, map[string]func(*testscript.TestScript, bool, []string){
		"background": onGlass(func(g *glass, _ *testscript.TestScript, _ bool, args []string) { g.backdrop = args[0] }),
		"focus": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			g.send(ts, map[string]string{"in": "\x1b[I", "out": "\x1b[O"}[args[0]])
		}),
		"drop": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			g.send(ts, "\x1b[200~"+strings.Join(args, " ")+"\x1b[201~")
		}),
		"raw": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			text, err := strconv.Unquote(`"` + strings.Join(args, " ") + `"`)
			ts.Check(err)
			g.send(ts, text)
		}),
		"scribble": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			text, err := strconv.Unquote(`"` + strings.Join(args, " ") + `"`)
			ts.Check(err)
			io.WriteString(g.Screen, "\x1b7"+text+"\x1b8")
		}),
		"title": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			want := strings.Join(args, " ")
			g.until(ts, func() bool { return g.State().Title == want }, func() string { return "the title is " + g.State().Title })
		}),
		"sent": onGlass(func(g *glass, ts *testscript.TestScript, neg bool, args []string) {
			text, err := strconv.Unquote(`"` + strings.Join(args, " ") + `"`)
			ts.Check(err)
			has := func() bool { return strings.Contains(strings.Join(g.State().Sent, "\n"), text) }
			if neg && has() {
				ts.Fatalf("it has sent %q", g.State().Sent)
			}
			if !neg {
				g.until(ts, has, func() string { return strings.Join(g.State().Sent, "\n") })
			}
		}),
		"bells": onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) {
			n, err := strconv.Atoi(args[0])
			ts.Check(err)
			g.until(ts, func() bool { return g.State().Bells == n }, func() string { return strconv.Itoa(g.State().Bells) + " bells" })
		}),
		"style": onGlass((*glass).styled),
	})
	return cmds
}

// around is what a glass is started with.
type around struct{ backdrop string }

func (g *glass) prepare() {
	switch g.backdrop {
	case "white":
		g.SetBackground("rgb:ffff/ffff/ffff")
	case "none":
		g.SetBackground("")
	}
}

// modelPort is the port of the scripted model, with the spaces after it.
var modelPort = regexp.MustCompile(`127\.0\.0\.1:\d+ +`)

// withoutPort returns a screen without the port of the model, which differs each time.
func withoutPort(shown string) string { return modelPort.ReplaceAllString(shown, "MODEL ") }

// occurrences counts a text; one that begins with ^ only at the start of lines.
func occurrences(all, text string) int {
	if start, ok := strings.CutPrefix(text, "^"); ok {
		return strings.Count("\n"+all, "\n"+start)
	}
	return strings.Count(all, text)
}

// until waits for a condition.
func (g *glass) until(ts *testscript.TestScript, ok func() bool, state func() string) {
	if !waittest.Holds(ok) {
		ts.Fatalf("it never became true: %s\n%s", state(), g.shown())
	}
}

func (g *glass) styled(ts *testscript.TestScript, _ bool, args []string) {
	want := strings.TrimPrefix(args[0], "-")
	text := strings.Join(args[1:], " ")
	style := func() string {
		for row, l := range g.Lines() {
			if i := strings.Index(l, text); i >= 0 {
				return g.Style(row, len([]rune(l[:i])))
			}
		}
		return "not there"
	}
	g.until(ts, func() bool { return style() == want }, func() string { return "its style is " + style() })
}
