package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every package that the program links may spend start-up time before main. One that spends more than a millisecond
// is found here.
func TestNoPackageInitIsSlow(t *testing.T) {
	binary := buildAdze(t)
	const limit, runs = 1.0, 10
	smallest := map[string]float64{}
	for range runs { // the smallest of many: a busy machine is not blamed
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

// buildAdze builds the program as users have it.
func buildAdze(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "adze")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
