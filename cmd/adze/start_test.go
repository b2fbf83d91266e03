package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// No linked package spends more than a millisecond before main.
func TestNoPackageInitIsSlow(t *testing.T) {
	binary := plainProgram(t)
	const limit = 1.0
	smallest := map[string]float64{}
	slow := func() bool {
		for _, took := range smallest {
			if took > limit {
				return true
			}
		}
		return false
	}
	for runs := 0; runs < 3 || slow() && runs < 500; runs++ { // the smallest of many, for a busy machine
		cmd := exec.Command(binary, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			var name string
			var at, took float64
			if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms", &name, &at, &took); n != 3 {
				continue
			}
			if old, ok := smallest[name]; !ok || took < old {
				smallest[name] = took
			}
		}
	}
	if len(smallest) < 10 {
		t.Fatalf("the trace names only %d packages", len(smallest))
	}
	for name, took := range smallest {
		if took > limit {
			t.Errorf("the init of %s takes %.2f ms, over %.0f", name, took, limit)
		}
	}
}
