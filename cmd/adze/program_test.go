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
// makes a program ten times slower, and tests start it a thousand times. The one with it is this test binary, or what
// make test has built, which runs these tests without the detector: it would find races of the tests, but slow them down.
type programs struct {
	m *testing.M
}

// Run puts the plain program first in PATH, before the other and the programs in this test binary, and runs the tests.
func (p programs) Run() int {
	if err := flag.Set("test.parallel", "8"); err != nil { // most of these tests wait; -parallel on the command line overrides it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program, remove, err := plainadze.Program()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	path := []string{filepath.Dir(program)}
	if raced := os.Getenv(plainadze.RacedVariable); raced != "" {
		path = append(path, filepath.Dir(raced))
	}
	os.Setenv("PATH", strings.Join(append(path, os.Getenv("PATH")), string(filepath.ListSeparator)))
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

// racedPath returns the PATH in which adze has the race detector, or is this test binary if none has it.
func racedPath() string {
	_, rest, _ := strings.Cut(os.Getenv("PATH"), string(filepath.ListSeparator))
	return rest
}

// racedProgram returns adze with the race detector, or this test binary if none has it.
func racedProgram() string {
	dir, _, _ := strings.Cut(racedPath(), string(filepath.ListSeparator))
	return programIn(dir)
}

// What tests start as adze is not this test binary, which would be slower, and larger in memory.
func TestProgramIsPlain(t *testing.T) {
	t.Parallel()
	detects := plainadze.RaceEnabled || os.Getenv(plainadze.RacedVariable) != ""
	for path, want := range map[string]bool{plainProgram(t): false, racedProgram(): detects} {
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
