package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The terminal vanishes while a command runs, and without anything running: the session is closed in order and kept.
func TestTerminalGone(t *testing.T) {
	for name, vanish := range map[string]func(g *glass){
		"hangup":      func(g *glass) { g.keys.Close() }, // the kernel sends SIGHUP too
		"signal":      func(g *glass) { g.cmd.Process.Signal(syscall.SIGHUP) },
		"termination": func(g *glass) { g.cmd.Process.Signal(syscall.SIGTERM) },
		"quit":        func(g *glass) { g.cmd.Process.Signal(syscall.SIGQUIT) },
		"abort":       func(g *glass) { g.cmd.Process.Signal(syscall.SIGABRT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `{"permissions":{"allow":["Shell(sleep:*)"]}}`)
			m := scriptedModel(t, openaitest.Answer{Text: "Before.", Calls: []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(`{"command":"sleep 1000"}`)}}})
			g := conversation(t, d, m.URL, "")
			g.see(t, "model    scripted")
			g.types(t, "remember the milk\r")
			g.see(t, "◐ Shell sleep 1000")
			vanish(g)
			if code := g.exits(t); code != 130 {
				t.Errorf("exit code %d:\n%s", code, g.Text())
			}
			if name != "hangup" {
				g.untouched(t)
				g.see(t, "The session is saved. Continue with: adze -c")
				if strings.Contains(g.Text(), "goroutine ") { // SIGQUIT and SIGABRT make the runtime report what every goroutine does
					t.Errorf("a stack trace:\n%s", g.Text())
				}
			}
			again := conversation(t, d, m.URL, "", "-c")
			again.see(t, "remember the milk")
		})
	}
}

// A panic of the program, while a command runs: the terminal is as it was found, the message has no stack trace, and the session is
// kept.
func TestTerminalPanic(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `{"permissions":{"allow":["Shell(sleep:*)"]}}`)
	m := scriptedModel(t, openaitest.Answer{Calls: []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(`{"command":"sleep 1000"}`)}}})
	g := talk(t, d, exec.Command("brokenadze"), m.URL, "")
	g.see(t, "model    scripted")
	g.types(t, "remember the milk\r")
	g.see(t, "◐ Shell sleep 1000")
	if during := g.termios(t); during == *g.found {
		t.Error("the terminal isn't in raw mode")
	}
	d.write(t, filepath.Join(d.dir, panicFile), "")
	if code := g.exits(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	g.untouched(t)
	if after := g.termios(t); after != *g.found {
		t.Errorf("the terminal is %+v, not %+v", after, *g.found)
	}
	if text := g.Text(); !strings.Contains(text, "adze: internal error: the variable TERM is broken (broken_test.go:") ||
		!strings.Contains(text, "The session is saved. Continue with: adze -c") || strings.Contains(text, "goroutine ") {
		t.Errorf("the terminal shows\n%s", text)
	}
	again := conversation(t, d, m.URL, "", "-c")
	again.see(t, "remember the milk")
}

// termios returns the state of the terminal's line discipline.
func (g *glass) termios(t *testing.T) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(descriptor(g.keys), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

// Keys that are typed while the program starts are kept: in the prompt, once, and not in front of the header.
func TestTypeAhead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `{}`)
	g := conversation(t, d, scriptedModel(t, openaitest.Answer{Text: "Hello."}).URL, "hello early")
	g.see(t, "› hello early")
	g.see(t, "model    scripted")
	// A frame may be half painted.
	g.holds(t, "the keys are shown once, below the header", func() bool {
		text := g.Text()
		return strings.Count(text, "hello early") == 1 && strings.HasPrefix(text, "Adze")
	})
}

// A line without end in an answer, and a name of 10 KB in a call: all is printed, the program answers keys, and memory is
// bounded. 10 MB (make soak) take this screen 400 MB.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	size, limit := 1<<19, 200
	if soak.On() {
		size, limit = 10<<20, 600
	}
	d := newDesk(t, `{}`)
	g := conversation(t, d, scriptedModel(t,
		openaitest.Answer{Text: strings.Repeat("x", size) + "!\n\nend", Faults: openaitest.Faults{Split: 64 << 10},
			Calls: []openaitest.Call{{ID: "1", Name: strings.Repeat("n", 10_000), Args: []byte(`{"a":"` + strings.Repeat("b", 1<<18) + `"}`)}}},
		openaitest.Answer{Text: "All of it."}).URL, "")
	g.see(t, "model    scripted")
	g.types(t, "go\r")
	g.holds(t, "the answer is printed", func() bool {
		return strings.HasSuffix(strings.TrimSpace(visibleText(g)), "commands") && g.sees("All of it.")
	})
	if n := strings.Count(g.Text(), "x"); n < size {
		t.Errorf("%d of %d characters were printed", n, size)
	}
	g.types(t, "still here")
	g.see(t, "› still here")
	if kb := peakMemory(t, g.cmd.Process.Pid); kb>>10 > limit {
		t.Errorf("%d MB of memory", kb>>10)
	}
}

func visibleText(g *glass) string { return strings.Join(g.Lines(), "\n") }

// sees reports whether the visible screen contains a text.
func (g *glass) sees(text string) bool { return strings.Contains(visibleText(g), text) }

// peakMemory returns the most memory that a process had, in KB.
func peakMemory(t *testing.T, pid int) (kb int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	fmt.Sscan(rest, &kb)
	return kb
}

// A paste of 50 MB is folded, keys are answered after it, and memory is bounded.
func TestHugePaste(t *testing.T) {
	t.Parallel()
	size := 50 << 20
	if testing.Short() || !soak.On() {
		size = 2 << 20
	}
	d := newDesk(t, `{}`)
	g := conversation(t, d, scriptedModel(t, openaitest.Answer{Text: "Hello."}).URL, "")
	g.see(t, "model    scripted")
	lines := size / 64
	text := strings.Repeat(strings.Repeat("p", 61)+"\xff\r\n", lines) // not UTF-8
	go g.keys.WriteString("\x1b[200~" + text + "\x1b[201~")
	g.see(t, fmt.Sprintf("[paste 1: %d lines]", lines))
	g.types(t, "and more")
	g.see(t, "lines]and more")
	if kb := peakMemory(t, g.cmd.Process.Pid); kb > 350<<10 {
		t.Errorf("%d MB of memory", kb>>10)
	}
	g.types(t, "\x03\x03\x03")
	if code := g.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// From 20 by 5 cells down to one cell, nothing breaks and the prompt is visible; afterwards everything is there again.
func TestTinyTerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `{"tools":{"trial":"off"}}`)
	g := conversation(t, d, scriptedModel(t,
		openaitest.Answer{Text: "Some *text* with `code`.\n\n| a | b |\n|---|---|\n| c | d |\n\n- list", Calls: []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(`{"command":"touch x"}`)}}},
		openaitest.Answer{Text: "Done."}).URL, "")
	g.see(t, "model    scripted")
	resize := func(columns, rows int) {
		g.Resize(columns, rows, true)
		if err := unix.IoctlSetWinsize(descriptor(g.keys), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, size := range [][2]int{{20, 5}, {10, 3}, {4, 2}, {20, 2}, {1, 1}, {2, 50}, {20, 5}} {
		resize(size[0], size[1])
		if size[0] >= 10 {
			g.holds(t, fmt.Sprintf("the prompt is visible in %d×%d", size[0], size[1]), func() bool { return g.sees("›") })
			g.types(t, fmt.Sprint(i))
			g.holds(t, "a key is shown", func() bool { return g.sees(fmt.Sprint("› ", i)) })
			g.types(t, "\x7f")
		}
	}
	g.types(t, "go\r")
	g.holds(t, "the question and the prompt are visible", func() bool { return g.sees("? Shell touch x") && g.sees("›") })
	resize(3, 2)
	resize(80, 24)
	g.holds(t, "the question is visible", func() bool { return g.sees("y once") })
	g.types(t, "\x1b")
	g.see(t, "∙ interrupted")
}

// An editor that fails, and one that doesn't exist, keep the prompt and say so.
func TestBrokenEditor(t *testing.T) {
	t.Setenv("ADZE_TEST_EDITOR", "false")
	d := newDesk(t, `{}`)
	m := scriptedModel(t, openaitest.Answer{Text: "Hello."})
	for editor, want := range map[string]string{"false": "✗ run the editor false: exit status 1", "/nowhere/editor": "✗ run the editor /nowhere/editor: not found; set VISUAL or EDITOR"} {
		t.Setenv("ADZE_TEST_EDITOR", editor)
		g := conversation(t, d, m.URL, "")
		g.see(t, "model    scripted")
		g.types(t, "keep me")
		g.see(t, "› keep me")
		g.types(t, "\x07")
		g.see(t, want)
		g.types(t, " too")
		g.see(t, "› keep me too")
		g.types(t, "\x03\x04")
		if code := g.exits(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		g.untouched(t)
	}
}

// Under bash, Ctrl+Z gives the terminal back, and fg continues with the prompt.
func TestSuspend(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	d := newDesk(t, `{}`)
	m := scriptedModel(t, openaitest.Answer{Text: "Hello."})
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "ADZE_HOME=" + d.home, "GORACE=atexit_sleep_ms=0", "ADZE_LOCAL_MODELS=off",
		"TERM=xterm-256color", "OPENAI_BASE_URL=" + m.URL, "PS1=shell> ", "HISTFILE="}
	g := &glass{}
	stop, err := g.start(cmd, "")
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(stop)
	g.see(t, "shell>")
	g.types(t, "adze\r")
	g.see(t, "model    scripted")
	g.types(t, "before")
	g.see(t, "› before")
	g.types(t, "\x1a")
	g.see(t, "Stopped")
	g.types(t, "echo in the $((1+1))nd shell\r")
	g.see(t, "in the 2nd shell")
	if g.Mode(2004) && g.Mode(1004) || !g.Mode(7) {
		t.Errorf("the shell got the modes of the program: %+v", g.State())
	}
	g.types(t, "fg\r")
	g.holds(t, "the prompt is back", func() bool { return g.sees("› before") })
	g.types(t, " and after")
	g.holds(t, "keys go to the program", func() bool { return g.sees("› before and after") })
	g.types(t, "\x03\x04")
	g.holds(t, "the shell is back", func() bool { return strings.HasSuffix(strings.TrimSpace(visibleText(g)), "shell>") })
	g.types(t, "exit\r")
	g.exits(t)
}

// Behind @ are more files than are listed: the list says so. The prompt is not slower for it.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `{}`)
	for i := range 300 {
		write(t, d.dir, fmt.Sprintf("dir%d/file%03d.txt", i%10, i), "")
	}
	write(t, d.dir, "bad\x1bname.txt", "")
	if err := os.WriteFile(filepath.Join(d.dir, "bad\xffname.txt"), nil, 0o600); err != nil {
		t.Log(err) // a file system that takes no such names
	}
	g := conversation(t, d, scriptedModel(t, openaitest.Answer{Text: "Hello."}).URL, "")
	g.see(t, "model    scripted")
	g.types(t, "look at @fil007")
	g.holds(t, "files are listed", func() bool { return g.sees("› @dir7/file007.txt") })
	g.types(t, "\t")
	g.holds(t, "one is taken", func() bool { return g.sees("› look at @dir7/file007.txt") })
	g.types(t, "@bad")
	g.holds(t, "the list is complete", func() bool { return !g.sees("listing files") })
	if g.sees("name.txt") {
		t.Errorf("names that can't be typed are listed:\n%s", g.shown())
	}
}
