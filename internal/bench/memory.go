package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// memoryOf is the word that makes this program a starter: it runs a program and prints how much memory that had.
const memoryOf = "memory-of"

// startAndPrint runs a program and prints the most memory that it had, in bytes.
func startAndPrint(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	fmt.Println(maxRSS(cmd.ProcessState))
	return nil
}

// memory is the most memory that a command has. Linux counts the memory of the parent at the time of a start as the child's,
// so the parent is a small one.
func memory(cmd *exec.Cmd) (bytes int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	starter := exec.Command(self, append([]string{memoryOf, cmd.Path}, cmd.Args[1:]...)...)
	starter.Dir, starter.Env = cmd.Dir, cmd.Env
	out, err := starter.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return 0, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(out), &bytes)
	return bytes, err
}
