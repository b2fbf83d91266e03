package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// noMounts is the exit code of a program that can't mount.
const noMounts = 77

// mountSmall mounts a small disk, in the namespaces of this process.
func mountSmall(dir string) {
	if dir == "" {
		return
	}
	if err := syscall.Mount("small", dir, "tmpfs", 0, "size=900k"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(noMounts)
	}
	os.Unsetenv(onSmallDisk) // child processes have it already
}

// onSmall puts the queue of a program on a small disk.
func (m *machine) onSmall(c *exec.Cmd) {
	m.t.Helper()
	dir := filepath.Join(m.dir, "fleet")
	queue := filepath.Join(dir, "queue")
	if err := os.MkdirAll(queue, 0o700); err != nil {
		m.t.Fatal(err)
	}
	c.Args = append(c.Args, "--dir", dir)
	c.Env = append(c.Env, onSmallDisk+"="+queue)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// A full disk stopped the queue, and the run waited without a word until it was killed.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	c := m.command("run", m.tasks("tasks.jsonl", 60, 2), "--approval-mode", "yolo", "--sandbox", "off")
	m.onSmall(c)
	var problems bytes.Buffer
	c.Stderr = &problems
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, syscall.EPERM) || errors.As(err, &exit) && exit.ExitCode() == noMounts:
		t.Skipf("can't mount: %v %s", err, problems.String())
	case !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(problems.String(), "the queue stopped: ") || !strings.Contains(problems.String(), "no space left on device"):
		t.Errorf("%v: %s", err, problems.String())
	}
}

// A run whose queue was gone ignored the first Ctrl-C.
func TestInterruptedWithoutQueue(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	flags := m.server("10s")
	c := m.command(append([]string{"run", m.tasks("tasks.jsonl", 40, 2), "--slots", "2", "--approval-mode", "yolo", "--sandbox", "off"}, flags...)...)
	var problems bytes.Buffer
	c.Stderr = &problems
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a task has started", func() bool { return len(m.counted()) > 0 })
	if err := m.queue.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.queue.Wait()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || !strings.Contains(problems.String(), "interrupted\nContinue with the same command") {
		t.Errorf("%v: %s", err, problems.String())
	}
}
