package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// measured runs a command and returns its output and its highest observed resident memory, in bytes. The kernel's own count
// at the end can't be used: it includes the memory of the parent process.
func measured(cmd *exec.Cmd) (out []byte, peak int64, err error) {
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return b.Bytes(), peak, err
		case <-time.After(2 * time.Millisecond):
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(line, &kb); err != nil {
		return 0
	}
	return kb << 10
}
