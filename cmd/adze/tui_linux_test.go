package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// TestTerminal runs stories of the interactive terminal: the real program in a terminal, with a scripted model.
//
//	start [ARG...]     starts adze in a terminal of 80 columns and 24 rows
//	type TEXT          types text
//	key NAME...        presses keys: enter, esc, up, ctrl-c, alt-u, shift-tab
//	paste FILE         pastes a file
//	calm               waits until there is a question that a key can answer
//	see TEXT           waits until the screen shows a text; ! see: until it does not
//	resize C R         resizes the terminal
//	screen FILE        compares the screen with a file; spaces at the end don't count
//	count N TEXT       waits until a text is N times in the scrollback and the screen; ^TEXT: at the start of a line
//	copied FILE        waits until the clipboard has the text of a file
//	hold               keeps a session locked that another program would have open
//	keep FILE          saves the scrollback and the screen
//	kept FILE          waits until they are as they were saved
//	mode N             waits until a private mode of the terminal is set; ! mode: until it is not
//	exit CODE          waits until the program has ended
func TestTerminal(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "tui"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("ADZE_UPDATE") != "",
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			removeRoot(t, env)
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("ADZE_HOME", filepath.Join(home, ".adze"))
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("ADZE_LOCAL_MODELS", "off")
			env.Setenv("TERM", "xterm-256color")
			env.Values[glassKey{}] = &glass{}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: withAround(map[string]func(*testscript.TestScript, bool, []string){
			"model":  func(ts *testscript.TestScript, neg bool, args []string) { serveModel(t, ts, args) },
			"start":  startInGlass,
			"type":   onGlass(func(g *glass, ts *testscript.TestScript, _ bool, args []string) { g.send(ts, strings.Join(args, " ")) }),
			"key":    onGlass((*glass).press),
			"paste":  onGlass((*glass).paste),
			"calm":   onGlass((*glass).calm),
			"see":    onGlass((*glass).wait),
			"resize": onGlass((*glass).resize),
			"screen": onGlass((*glass).compare),
			"count":  onGlass((*glass).count),
			"exit":   onGlass((*glass).exit),
			"hold":   func(ts *testscript.TestScript, _ bool, args []string) { holdSession(ts) },
			"copied": onGlass((*glass).copied),
			"keep":   onGlass((*glass).keep),
			"kept":   onGlass((*glass).kept),
			"mode":   onGlass((*glass).mode),
		}),
	})
}

type glassKey struct{}

func onGlass(f func(*glass, *testscript.TestScript, bool, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		f(ts.Value(glassKey{}).(*glass), ts, neg, args)
	}
}

// racedInGlass are the stories in which the screen, the keys and the work happen at once: without the race detector, make
// test runs the program with it in these. 'go test -race ./cmd/adze' does in all.
var racedInGlass = []string{
	"answered", "aside", "background", "bang", "ctrl_c", "effects", "mcp_form", "question_editor", "resize", "resume",
	"retry", "rewind", "steer", "stream", "tasks", "typeahead", "undo", "view", "work",
}

func startInGlass(ts *testscript.TestScript, _ bool, args []string) {
	var env []string
	for _, name := range []string{"PATH", "HOME", "ADZE_HOME", "GORACE", "ADZE_LOCAL_MODELS", "TERM", "OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_COLOR", "EDITOR", "TERM_PROGRAM", "TMUX", "COLORFGBG"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	program := "adze"
	if plainadze.RaceEnabled || slices.Contains(racedInGlass, ts.Name()) {
		program = racedProgram()
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), env
	stop, err := ts.Value(glassKey{}).(*glass).start(cmd, "")
	ts.Check(err)
	ts.Defer(stop)
}

func (g *glass) send(ts *testscript.TestScript, text string) {
	_, err := g.keys.WriteString(text)
	ts.Check(err)
}

var keyBytes = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift-tab": "\x1b[Z", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"backspace": "\x7f", "alt-enter": "\x1b\r", "shift-enter": "\x1b[13;2u", "home": "\x1b[H", "end": "\x1b[F", "space": " ", "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "f5": "\x1b[15~",
}

func (g *glass) press(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		bytes, ok := keyBytes[name]
		if letter, ctrl := strings.CutPrefix(name, "ctrl-"); ctrl && len(letter) == 1 {
			bytes, ok = string(letter[0]&0x1f), true
		}
		if letter, alt := strings.CutPrefix(name, "alt-"); alt && len(letter) == 1 {
			bytes, ok = "\x1b"+letter, true
		}
		if !ok {
			ts.Fatalf("unknown key %s", name)
		}
		g.send(ts, bytes)
	}
}

func (g *glass) paste(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r")
	go g.keys.WriteString("\x1b[200~" + text + "\x1b[201~") // more than the terminal takes at once
}

// calm waits for a question below the rule, and then as long as keys are text.
func (g *glass) calm(ts *testscript.TestScript, _ bool, _ []string) {
	g.until(ts, func() bool {
		_, live, _ := strings.Cut(g.shown(), "\n────")
		for strings.Contains(live, "\n────") {
			_, live, _ = strings.Cut(live, "\n────")
		}
		return strings.Contains(live, "\n? ") || strings.Contains(live, "\n↶ ")
	}, func() string { return "a question" })
	time.Sleep(2 * time.Second) // not synchronization: the rule is 0.4 s without a key; the rest is for keys that a busy machine reads late
}

func (g *glass) wait(ts *testscript.TestScript, neg bool, args []string) {
	want := strings.Join(args, " ")
	shows := waittest.Holds(func() bool {
		if strings.Contains(g.shown(), want) != neg {
			return true
		}
		select {
		case code := <-g.ended:
			g.ended <- code
			ts.Fatalf("the program ended with %d before the screen showed %q:\n%s", code, want, g.shown())
		default:
		}
		return false
	})
	switch {
	case !shows && neg:
		ts.Fatalf("the screen still shows %q:\n%s", want, g.shown())
	case !shows:
		ts.Fatalf("the screen never showed %q:\n%s", want, g.shown())
	}
}

func (g *glass) resize(ts *testscript.TestScript, _ bool, args []string) {
	columns, _ := strconv.Atoi(args[0])
	rows, _ := strconv.Atoi(args[1])
	g.Resize(columns, rows, true)
	ts.Check(unix.IoctlSetWinsize(descriptor(g.keys), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}))
}

// compare compares the screen with a file, once nothing changes anymore.
func (g *glass) compare(ts *testscript.TestScript, _ bool, args []string) {
	work := ts.Getenv("WORK")
	want := ts.ReadFile(args[0])
	got := ""
	same := waittest.Holds(func() bool {
		got = withoutPort(strings.ReplaceAll(g.shown(), work, "$WORK"))
		return got == want
	})
	if !same {
		ts.Fatalf("the screen is\n%s\ninstead of\n%s", got, want)
	}
}

func (g *glass) count(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := strings.Join(args[1:], " ")
	got := 0
	same := waittest.Holds(func() bool {
		got = occurrences(g.Text(), text)
		return got == want
	})
	if !same {
		ts.Fatalf("%q is there %d times, not %d:\n%s", text, got, want, g.Text())
	}
}

func (g *glass) exit(ts *testscript.TestScript, _ bool, args []string) {
	want, _ := strconv.Atoi(args[0])
	select {
	case code := <-g.ended:
		g.ended <- code
		if code != want {
			ts.Fatalf("exit code %d, not %d:\n%s", code, want, g.shown())
		}
	case <-time.After(3 * time.Minute):
		ts.Fatalf("the program did not end:\n%s", g.shown())
	}
	if s := g.State(); s.Erased > 0 || !g.Mode(25) || !g.Mode(7) || g.Mode(2004) || g.Mode(1004) || g.Mode(1036) {
		ts.Fatalf("the terminal is not as it was: %+v", s)
	}
}
