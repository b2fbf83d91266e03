// Package plainadze builds Adze without the race detector. Tests with it start hundreds of keepers, and each takes
// several times as long with the detector. cmd/adze has stories with keepers that have it.
package plainadze

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Variable names the program: make test builds it once for all packages, and tests pass it to child processes.
const Variable = "ADZE_TEST_PLAIN"

// RacedVariable names Adze with the race detector, for tests without it.
const RacedVariable = "ADZE_TEST_RACED"

// Program returns the path of the program, and how to remove it. Every user may execute it. Call it before a goroutine
// starts a process: one that is being forked would have the program open for writing, and it could not be executed.
func Program() (path string, remove func(), err error) {
	if path := os.Getenv(Variable); isFile(path) {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "adze-plain-")
	if err != nil {
		return "", nil, err
	}
	path, remove = filepath.Join(dir, "adze"), func() { os.RemoveAll(dir) }
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path,
		"github.com/adze-dev/adze/cmd/adze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	out, err := build.CombinedOutput()
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("build adze: %w\n%s", err, out)
	}
	return path, remove, nil
}

// Run runs the tests of a package. With the race detector, use gets the path of a program without it first.
func Run(use func(path string), run func() int) int {
	if !RaceEnabled {
		return run()
	}
	if path := os.Getenv(Variable); path != "" {
		if isFile(path) { // not every process of a test sees it
			use(path)
		}
		return run()
	}
	path, remove, err := Program()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	os.Setenv(Variable, path)
	use(path)
	return run()
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
