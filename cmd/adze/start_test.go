package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// No linked package does much before main. The trace's times are for 'make bench': here counts, which no load changes.
// A thousand allocations take about 0.3 ms.
func TestNoPackageInitIsSlow(t *testing.T) {
	const maxAllocs, maxBytes = 1200, 200_000
	cmd := exec.Command(plainProgram(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		var name string
		var at, took float64
		var bytes, allocs int
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &allocs); n != 5 {
			continue
		}
		packages++
		if bytes > maxBytes || allocs > maxAllocs {
			t.Errorf("the init of %s makes %d allocations, %d bytes; at most %d and %d", name, allocs, bytes, maxAllocs, maxBytes)
		}
	}
	if packages < 10 {
		t.Fatalf("the trace names only %d packages", packages)
	}
}
