package main

import (
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/plainadze"
)

// programs are the two builds of Adze that tests start. Most start the plain one, as users have it. The race detector
// makes a program ten times slower, and tests start it a thousand times.
type programs struct {
	m *testing.M
}

// Run builds the plain program, puts it first in PATH, and runs the tests. No other goroutine starts a process yet, so
// none inherits the file while it is open for writing.
func (p programs) Run() int {
	if err := flag.Set("test.parallel", "8"); err != nil { // most of these tests wait; -parallel on the command line overrides it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "adze-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // other users run it too
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", programIn(dir), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build adze: %v\n%s", err, out)
		return 1
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	// Under nohup, SIGHUP is ignored, and programs inherit that. One that is caught has its default in them.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return p.m.Run()
}

func programIn(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "adze.exe")
	}
	return filepath.Join(dir, "adze")
}

// plainProgram returns the program as users have it, where every user may run it.
func plainProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("adze")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// racedPath returns the PATH in which adze is this test binary, with the race detector if the tests have it.
func racedPath() string {
	_, rest, _ := strings.Cut(os.Getenv("PATH"), string(filepath.ListSeparator))
	return rest
}

// racedProgram returns this test binary as adze.
func racedProgram() string {
	dir, _, _ := strings.Cut(racedPath(), string(filepath.ListSeparator))
	return programIn(dir)
}

// What tests start as adze is not this test binary, which would be slower, and larger in memory.
func TestProgramIsPlain(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{plainProgram(t): false, racedProgram(): plainadze.RaceEnabled} {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raced := slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
		if raced != want {
			t.Errorf("%s has the race detector: %v, want %v", path, raced, want)
		}
	}
}
