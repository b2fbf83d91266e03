package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
)

// Many turns leave nothing behind: from the first tenth on, neither memory nor descriptors grow, and no file is left. Make
// test has 300 of them, a full soak a thousand.
func TestThousandTurns(t *testing.T) {
	soak.Skip(t, 30, 100)
	t.Parallel()
	started := make(chan int, 1)
	var pid int
	memory, descriptors := map[int]int64{}, map[int]int{}
	turns := soak.Count(300, 1000)
	every := turns / 10
	s := &longServer{turns: turns, at: func(turn int) {
		if pid == 0 {
			pid = <-started
		}
		if turn%every == 0 {
			memory[turn], descriptors[turn] = resident(pid), openFiles(pid)
		}
	}}
	temp := t.TempDir()
	s.env = []string{"TMPDIR=" + temp}
	stdout, stderr, code := s.run(t, 40, "{}", func(cmd *exec.Cmd) { started <- cmd.Process.Pid })
	if code != 0 || stdout != "the password is plover-7781\n" {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the temp directory: %q, %v", left, err)
	}
	if got := descriptors[turns] - descriptors[every]; descriptors[every] == 0 || got > 0 {
		t.Errorf("%d descriptors more in turn %d than %d in turn %d", got, turns, descriptors[every], every)
	}
	// The garbage collector may run at any time: the most memory at the start, and the least at the end.
	grown := min(memory[8*every], memory[9*every], memory[turns]) - max(memory[every], memory[2*every], memory[3*every])
	t.Logf("memory %v", memory)
	if limit := int64(5 << 20); grown > limit {
		t.Errorf("memory grew by %d bytes from %d", grown, memory[every])
	}
}

func resident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	var kb int64
	if _, err := fmt.Sscan(line, &kb); err != nil {
		return 0
	}
	return kb << 10
}

func openFiles(pid int) int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(all)
}
