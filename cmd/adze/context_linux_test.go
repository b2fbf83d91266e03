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
	t.Logf("memory %v, descriptors %v", memory, descriptors)
	if grown := growth(descriptors, every); descriptors[every] == 0 || grown > 0 {
		t.Errorf("%d descriptors more at the end", grown)
	}
	if grown := growth(memory, every); grown > 5<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// growth compares ten samples: the least at the end with the most at the start. The garbage collector and what runs in
// the background make single ones larger.
func growth[N int | int64](samples map[int]N, every int) N {
	return min(samples[8*every], samples[9*every], samples[10*every]) -
		max(samples[every], samples[2*every], samples[3*every])
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
