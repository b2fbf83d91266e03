package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// victim returns the program that the tests below kill: this test binary, started
// again. It runs a stubborn tree and waits.
func victim() int {
	opt := Options{State: os.Getenv("PROC_TEST_STATE")}
	if os.Getenv("PROC_TEST_PROGRAM") == "keeper" {
		opt.Helper = helper
	}
	r := Open(opt)
	line := os.Getenv("PROC_TEST_LINE")
	if line == "" {
		line = `(setsid bash -c 'trap "" TERM; echo orphan; sleep 300' &); trap '' TERM; echo ready; sleep 300`
	}
	c := Command{Line: line, Env: os.Environ()}
	if mode := os.Getenv("PROC_TEST_SANDBOX"); mode != "" {
		c.Sandbox = &sandbox.Spec{Mode: sandbox.Mode(mode)}
	}
	p, err := r.Start(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	waittest.Holds(func() bool {
		text := p.Read(0, 0).Text
		return strings.Contains(text, "ready") && strings.Contains(text, "orphan")
	})
	keeper := 0
	if k, ok := p.tree.(*kept); ok {
		keeper = k.id.pid
	}
	fmt.Println("standing", keeper)
	select {}
}

// program starts a victim and returns when its tree is complete.
func program(t *testing.T, kind, state string, more ...string) (cmd *exec.Cmd, keeper int, tag string) {
	t.Helper()
	env, tag := tagged(t)
	cmd = exec.Command(unraced)
	cmd.Env = append(append(env, "PROC_TEST_PROGRAM="+kind, "PROC_TEST_STATE="+state), more...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "standing %d", &keeper); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("the program said %q", line)
	}
	return cmd, keeper, tag
}

// freezeProgram stops a program, so that it sees nothing of what follows: each of its threads has stopped.
func freezeProgram(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Process.Signal(syscall.SIGSTOP)
	waittest.Until(t, "the program has stopped", func() bool {
		threads, _ := filepath.Glob(procFile(cmd.Process.Pid, "task/*/stat"))
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if _, state, ok := strings.Cut(string(text), ") "); err != nil || !ok || state[0] != 'T' {
				return false
			}
		}
		return len(threads) > 0
	})
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Process.Kill()
	cmd.Wait()
}

// A keeper detects that its program is gone.
func TestProgramKilled(t *testing.T) {
	t.Parallel()
	for i := range soak.Count(2, 50) {
		state := t.TempDir()
		cmd, keeper, tag := program(t, "keeper", state)
		if i%2 == 1 {
			syscall.Kill(keeper, syscall.SIGSTOP) // it must continue
		}
		kill(t, cmd)
		if left := tagsLeft(t, tag); left != nil {
			t.Fatalf("left %q", left)
		}
		keepersGone(t, state)
		if n, err := Reap(state); n != 0 || err != nil {
			t.Errorf("reaped %d, %v", n, err)
		}
		if files, _ := os.ReadDir(state); len(files) != 0 {
			t.Errorf("the ledger still has %d entries", len(files))
		}
	}
}

// keepersGone waits until the keepers in a ledger have exited, which they do after their processes.
func keepersGone(t *testing.T, state string) {
	t.Helper()
	files, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		r, ok := parseRecord(f.Name())
		waittest.Until(t, "the keeper exits", func() bool { return !ok || !r.process.alive() })
	}
}

// Program and keeper killed together, and a program without keepers: the next
// start kills the leftover processes.
func TestReapAtNextStart(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"keeper", "bare"} {
		t.Run(kind, func(t *testing.T) {
			state := t.TempDir()
			cmd, keeper, tag := program(t, kind, state)
			other, _, otherTag := program(t, kind, state)
			defer kill(t, other)
			if n, err := Reap(state); n != 0 || err != nil {
				t.Errorf("while it runs: reaped %d, %v", n, err)
			}
			// The keeper must not see its program die, so it dies first; and the
			// program must not see that, so it is stopped.
			if keeper > 0 {
				freezeProgram(t, cmd)
				syscall.Kill(keeper, syscall.SIGKILL)
			}
			kill(t, cmd)
			if tagsNow(tag) == nil {
				t.Fatal("nothing was left: the test shows nothing")
			}
			if n, err := Reap(state); n == 0 || err != nil {
				t.Errorf("reaped %d, %v", n, err)
			}
			if left := tagsLeft(t, tag); left != nil {
				t.Errorf("left %q", left)
			}
			if tagsNow(otherTag) == nil {
				t.Error("another program's processes were ended")
			}
			kill(t, other)
			if kind == "keeper" {
				keepersGone(t, state)
			}
			if _, err := Reap(state); err != nil {
				t.Error(err)
			}
			if left := tagsLeft(t, otherTag); left != nil {
				t.Errorf("left %q", left)
			}
		})
	}
}

// Entries with the ID of a running process but another start time, and files that aren't entries, are ignored.
func TestReapOnlyOwn(t *testing.T) {
	dir := t.TempDir()
	boot, ns, _ := here()
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer kill(t, sleep)
	s, _ := statusOf(sleep.Process.Pid)
	marker := newMarker()
	entry := func(boot, ns string, owner, start uint64) string {
		return fmt.Sprintf("%s.%s.%d.1.%d.%d.%s", boot, ns, owner, s.pid, start, marker)
	}
	gone := uint64(1 << 22)
	keep := []string{"notes.txt", "a.b.c.d.e.f." + marker, entry(boot, "1", gone, s.start)}
	for _, name := range append(keep, entry(boot, ns, gone, s.start+1), entry("other-boot", ns, gone, s.start)) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Reap(dir); n != 0 || err != nil {
		t.Errorf("reaped %d, %v", n, err)
	}
	if !s.alive() {
		t.Error("a process with the wrong start time was ended")
	}
	files, _ := os.ReadDir(dir)
	if len(files) != len(keep) {
		t.Errorf("%d files left, want %d", len(files), len(keep))
	}
	// The same with the right start time is ours.
	os.WriteFile(filepath.Join(dir, entry(boot, ns, gone, s.start)), nil, 0o600)
	if n, err := Reap(dir); n != 1 || err != nil {
		t.Errorf("reaped %d, %v", n, err)
	}
	if n, err := Reap(dir + "/missing"); n != 0 || err != nil {
		t.Errorf("missing folder: %d, %v", n, err)
	}
}

func TestStatusOfOddName(t *testing.T) {
	path := t.TempDir() + "/a) R 1 (b"
	if err := os.Symlink("/bin/sleep", path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer kill(t, cmd)
	s, ok := statusOf(cmd.Process.Pid)
	if !ok || s.parent != os.Getpid() {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		t.Errorf("%+v from %q", s, b)
	}
}
