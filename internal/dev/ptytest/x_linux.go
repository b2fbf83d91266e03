package ptytest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// StartX starts an X server without a screen, until the test ends, and returns its display. The test is skipped where
// Xvfb or one of the programs is missing.
func StartX(t testing.TB, programs ...string) (display string) {
	t.Helper()
	for _, p := range append([]string{"Xvfb"}, programs...) {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1600x1200x24", "-nolisten", "tcp", "-noreset")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	number, err := bufio.NewReader(r).ReadString('\n')
	if strings.TrimSpace(number) == "" {
		t.Skipf("Xvfb doesn't start here: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}
