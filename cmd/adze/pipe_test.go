package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A reader that goes away ends the program without a word of Go's, and without a signal in the middle of a write.
func TestClosedStdout(t *testing.T) {
	for _, args := range [][]string{{"tool", "list", "--json"}, {"version"}, {"--help"}, {"tool", "run"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.Command("adze", args...)
		var stderr bytes.Buffer
		cmd.Stdin = strings.NewReader(`{"name":"x"}` + "\n")
		cmd.Stdout, cmd.Stderr = w, &stderr
		err = cmd.Run()
		w.Close()
		exited, ok := err.(*exec.ExitError)
		if !ok || exited.ExitCode() != 1 || strings.Contains(stderr.String(), "goroutine") {
			t.Errorf("adze %v: %v, stderr %q", args, err, stderr.String())
		}
	}
}
