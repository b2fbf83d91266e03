package paint_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// painting is set in the program that paints inside a real terminal: it names the directory with its signs.
const painting = "ADZE_TEST_PAINTING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(painting); dir != "" {
		paintInside(dir)
		return
	}
	os.Exit(m.Run())
}

// paintInside streams numbered lines with a live area until there is a file "stop", then prints 500 lines at once.
func paintInside(dir string) {
	if _, err := term.MakeRaw(0); err != nil {
		panic(err)
	}
	size := func() (int, int) {
		c, r, _ := term.GetSize(1)
		return c, r
	}
	reports := make(chan [2]int, 100)
	go readReports(reports)
	p := paint.New(os.Stdout, paint.Options{Size: size, Report: func() (int, int, bool) {
		r := <-reports
		return r[0], r[1], true
	}})
	p.KeepsRows = os.Getenv("KEEPS_ROWS") != ""
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	n, partial := 0, ""
	frame := func(finished ...string) {
		columns, _ := size()
		live := []string{strings.Repeat("─", columns), "› typed text", strings.Repeat("s", min(columns, 60))}
		if partial != "" {
			live = append([]string{partial}, live...)
		}
		p.Paint(paint.Frame{Finished: lines(finished...), Live: lines(live...), Cursor: paint.Position{Row: len(live) - 2, Column: 12}})
	}
	// tmux moves the first rows to its scrollback if the rows below become more, even if there is space. So a conversation
	// starts with some lines, as its header does. rxvt-unicode drops the last rows when it becomes lower while the rows below
	// the cursor are empty, whatever runs in it. So they begin at the bottom of the screen.
	frame(slices.Repeat([]string{"header"}, 48)...)
	for {
		if _, err := os.Stat(filepath.Join(dir, "stop")); err == nil {
			break
		}
		select {
		case <-changed:
			p.Redraw() // it may have been smaller in between
			frame()
		case <-time.After(time.Millisecond):
		}
		if partial += "."; len(partial) > 30 {
			n++
			line := fmt.Sprintf("line %d %s", n, partial)
			partial = ""
			frame(line)
			os.WriteFile(filepath.Join(dir, "count"), fmt.Append(nil, n), 0o644)
			continue
		}
		frame()
	}
	var rest []string
	for range 500 {
		n++
		rest = append(rest, fmt.Sprintf("line %d at once", n))
	}
	partial = ""
	frame(rest...)
	os.WriteFile(filepath.Join(dir, "done"), fmt.Append(nil, n), 0o644)
	for range time.Tick(5 * time.Millisecond) {
		select {
		case <-changed:
			p.Redraw() // it may have been smaller in between
			frame()
		default:
		}
		if _, err := os.Stat(filepath.Join(dir, "print")); err == nil {
			os.Stdout.WriteString("\x1b[?11i") // xterm prints all that it has
			select {}
		}
	}
}

// readReports reads the answers to probes from stdin.
func readReports(to chan<- [2]int) {
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadString('R')
		if err != nil {
			return
		}
		var c, r int
		if i := strings.LastIndex(text, "\x1b["); i >= 0 {
			fmt.Sscanf(text[i:], "\x1b[%d;%dR", &r, &c)
			to <- [2]int{c, r}
		}
	}
}

// In tmux, forty resizes during a stream and 500 lines at once leave every finished line once, and one input line.
func TestTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	t.Parallel()
	dir := t.TempDir()
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", "/dev/null"}, args...)...)
		// tmux starts programs by the shell of the user, which is nologin for some.
		cmd.Env = append(os.Environ(), painting+"="+dir, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "SHELL=/bin/sh")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", "120", "-y", "40", os.Args[0])
	t.Cleanup(func() { tmux("kill-server") })
	tmux("set-option", "-g", "history-limit", "100000")
	resizes(t, dir, func(columns, rows int) { tmux("resize-window", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows)) })
	wait(t, func() bool { return strings.Contains(tmux("capture-pane", "-p"), "at once") })
	checkLines(t, dir, tmux("capture-pane", "-p", "-J", "-S", "-"))
	// Smaller than the live area, and large again: nothing of the old one is left. With 4 columns, the rows below the cursor
	// alone are more than the screen has, so the cursor isn't at its text anymore.
	shows := func(text string) {
		t.Helper()
		wait(t, func() bool { return strings.Contains(tmux("capture-pane", "-p"), text) }, func() string { return tmux("capture-pane", "-p", "-S", "-20") })
	}
	for _, size := range [][3]string{{"10", "5", "› typed t…"}, {"3", "3", "› …"}, {"1", "1", "s"}, {"4", "12", "› t…"}} {
		tmux("resize-window", "-x", size[0], "-y", size[1])
		shows(size[2])
		tmux("resize-window", "-x", "120", "-y", "40")
		shows(strings.Repeat("─", 120) + "\n› typed text\n" + strings.Repeat("s", 60))
		checkLines(t, dir, tmux("capture-pane", "-p", "-J", "-S", "-"))
	}
}

// resizes resizes the terminal 40 times while lines stream, and lets the program print the last 500 lines.
func resizes(t *testing.T, dir string, resize func(columns, rows int)) {
	t.Helper()
	count := func() (n int) {
		b, _ := os.ReadFile(filepath.Join(dir, "count"))
		fmt.Sscan(string(b), &n)
		return n
	}
	for i := range 40 {
		before := count()
		wait(t, func() bool { return count() > before })
		resize(40+(i*37)%81, 12+(i*17)%29)
	}
	resize(120, 40)
	sign(t, dir, "stop")
	wait(t, func() bool { _, err := os.Stat(filepath.Join(dir, "done")); return err == nil })
}

// sign makes a file that the program waits for.
func sign(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func checkLines(t *testing.T, dir, text string) {
	t.Helper()
	var limit int
	b, _ := os.ReadFile(filepath.Join(dir, "done"))
	fmt.Sscan(string(b), &limit)
	next, inputs, rules, wrong := 1, 0, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch {
		case strings.HasPrefix(line, fmt.Sprintf("line %d ", next)):
			next++
		case line == "› typed text":
			inputs++
		case strings.HasPrefix(line, "─"):
			rules++
		case line == "" || line == "header" || strings.Trim(line, "s") == "":
		default:
			if wrong++; wrong < 10 {
				t.Errorf("unexpected line %q, after line %d", line, next-1)
			}
		}
	}
	if next != limit+1 || inputs != 1 || rules != 1 {
		t.Errorf("%d of %d lines, %d input lines, %d rules", next-1, limit, inputs, rules)
	}
	if n := bytes.Count([]byte(text), []byte("ssss")); t.Failed() {
		t.Logf("%d pieces of status lines\n%s", n, text[:min(len(text), 3000)])
	}
}

// wait waits until something has happened. If it doesn't, state says what is instead.
func wait(t *testing.T, until func() bool, state ...func() string) {
	t.Helper()
	if !waittest.Holds(until) {
		for _, s := range state {
			t.Log(s())
		}
		t.Fatalf("it did not happen within %v", waittest.Limit)
	}
}
