package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A supervisor works before the libraries that it doesn't need are initialized.
func TestSupervisorStartsEarly(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	ours.Close() // it has no command to run
	defer theirs.Close()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--adze-process-keeper", "0")
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "GODEBUG=inittrace=1"), []*os.File{theirs}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if text := trace.String(); !strings.Contains(text, "engine/proc ") || strings.Contains(text, "goldmark") {
		t.Errorf("initialized:\n%s", text)
	}
}
