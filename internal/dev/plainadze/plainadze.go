// Package plainadze builds Adze without the race detector. Tests with it start hundreds of keepers, and each takes
// several times as long with the detector. cmd/adze has stories with keepers that have it.
package plainadze

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names the program, for tests in child processes.
const Variable = "ADZE_TEST_PLAIN"

// Run runs the tests of a package, before any goroutine starts a process: one that is being forked would have the
// program open for writing, and it could not be executed. With the race detector, use gets the path of a program
// without it first. Every user may execute it.
func Run(use func(path string), run func() int) int {
	if !RaceEnabled {
		return run()
	}
	if path := os.Getenv(Variable); path != "" {
		if _, err := os.Stat(path); err == nil { // not every such process sees it
			use(path)
		}
		return run()
	}
	dir, err := os.MkdirTemp("", "adze-plain-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "adze.exe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path,
		"github.com/adze-dev/adze/cmd/adze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build adze: %v\n%s", err, out)
		return 1
	}
	os.Chmod(dir, 0o755)
	os.Setenv(Variable, path)
	use(path)
	return run()
}
