package paint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/ptytest"
)

// In xterm, which cuts lines when it becomes narrower, and in rxvt-unicode, which wraps them, forty resizes during a stream
// and 500 lines at once leave every finished line once, and one input line.
func TestX(t *testing.T) {
	for _, test := range []struct {
		program string
		keeps   string // set if the terminal cuts lines
		args    func(printer string) []string
		print   func(t *testing.T, x *xServer, window, dir string)
	}{
		{"xterm", "1", func(printer string) []string {
			// Without jump scrolling: what is still to be scrolled isn't printed.
			return []string{"+j", "-fn", "fixed", "-geometry", "120x40", "-sl", "50000", "-xrm", "XTerm*printerCommand: " + printer,
				"-xrm", "XTerm*printAttributes: 0", "-u8", "-e"}
		}, func(t *testing.T, _ *xServer, _, dir string) { sign(t, dir, "print") }},
		{"urxvt", "", func(printer string) []string {
			return []string{"-fn", "fixed", "-geometry", "120x40", "-sl", "50000", "--print-pipe", printer, "-e"}
		}, func(_ *testing.T, x *xServer, window, _ string) {
			x.tool("windowfocus", "--sync", window)
			x.tool("key", "shift+Print")
		}},
	} {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()
			x := &xServer{t, ptytest.StartX(t, test.program, "xdotool")}
			dir := t.TempDir()
			printed := filepath.Join(dir, "printed")
			script := filepath.Join(dir, "printer")
			if err := os.WriteFile(script, []byte("#!/bin/sh\ncat > "+printed+".new && mv "+printed+".new "+printed+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			x.start(test.program, append(test.args(script), os.Args[0]), painting+"="+dir, "KEEPS_ROWS="+test.keeps, "LC_ALL=C.UTF-8")
			var window string
			wait(t, func() bool {
				window = strings.TrimSpace(x.tool("search", "--onlyvisible", "--class", test.program))
				return window != ""
			})
			resizes(t, dir, func(columns, rows int) {
				x.tool("windowsize", "--usehints", window, fmt.Sprint(columns), fmt.Sprint(rows))
			})
			test.print(t, x, window, dir)
			var text []byte
			wait(t, func() (ok bool) {
				b, err := os.ReadFile(printed)
				text = b
				return err == nil
			})
			checkLines(t, dir, string(text))
		})
	}
}

// xServer is an X server without a screen.
type xServer struct {
	t       *testing.T
	display string
}

// start starts a program on the server, until the test ends.
func (x *xServer) start(program string, args []string, env ...string) {
	x.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(append(os.Environ(), "DISPLAY="+x.display), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
}

// tool runs xdotool, whose searches fail if there is nothing yet.
func (x *xServer) tool(args ...string) string {
	cmd := exec.Command("xdotool", args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+x.display)
	out, _ := cmd.Output()
	return string(out)
}
