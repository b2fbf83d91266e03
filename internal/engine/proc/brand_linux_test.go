package proc

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// runaway returns a command whose child leaves its session and clears its
// environment. name is found in the child's arguments.
func runaway(t *testing.T) (line, name string) {
	name = "runaway-" + newMarker()
	t.Cleanup(func() {
		for _, pid := range named(name) {
			syscall.Kill(-pid, syscall.SIGKILL) // its session is its own
		}
	})
	return "(setsid env -i " + shellPath + " -c 'sleep 300; true' " + name + " &)", name
}

const shellPath = "/bin/sh"

// named lists the processes that have a name among their arguments.
func named(name string) (found []int) {
	for _, pid := range allPids() {
		text, _ := os.ReadFile(procFile(pid, "cmdline"))
		s, ok := statusOf(pid)
		if ok && !s.zombie && strings.Contains("\x00"+string(text), "\x00"+name+"\x00") {
			found = append(found, pid)
		}
	}
	return found
}

// A process that left its session and its environment, and then lost its keeper
// to its parent, outlived the program: nothing knew it any more.
func TestRunawayOfKilledKeeper(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		line, name := runaway(t)
		c.Line = line + "; echo ready; sleep 300"
		p, err := r.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the command runs", func() bool { return len(named(name)) > 0 })
		p.tree.(*kept).keeper.Kill()
		within(t, p, p.gone)
		waittest.Until(t, "the command is gone", func() bool { return len(named(name)) == 0 })
		if ended(t, p); p.tree.remaining() != 0 {
			t.Errorf("%d processes remain", p.tree.remaining())
		}
	})
}

// The same by the command itself, where it can reach its keeper.
func TestRunawayKillsKeeper(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		line, name := runaway(t)
		c.Line = line + "; kill -9 $PPID 2>/dev/null"
		run(t, r, c)
		r.Close()
		waittest.Until(t, "the command is gone", func() bool { return len(named(name)) == 0 })
	})
}

// Program and keeper killed together: the next start finds it.
func TestRunawayAtNextStart(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"keeper", "bare"} {
		t.Run(kind, func(t *testing.T) {
			state := t.TempDir()
			line, name := runaway(t)
			if kind == "bare" { // it is branded when it has started
				line = "while ! grep -q 'realtime timeout *[0-9]' /proc/$$/limits; do :; done; " + line
			}
			cmd, keeper, _ := program(t, kind, state, "PROC_TEST_LINE="+line+"; echo ready orphan; sleep 300")
			waittest.Until(t, "the command runs", func() bool { return len(named(name)) > 0 })
			if keeper > 0 {
				freezeProgram(t, cmd)
				syscall.Kill(keeper, syscall.SIGKILL)
			}
			kill(t, cmd)
			if len(named(name)) == 0 {
				t.Fatal("nothing was left: the test shows nothing")
			}
			if _, err := Reap(state); err != nil {
				t.Error(err)
			}
			waittest.Until(t, "the command is gone", func() bool { return len(named(name)) == 0 })
		})
	}
}

// A brand is read back, and doesn't match another marker.
func TestBrand(t *testing.T) {
	marker := newMarker()
	sleeper := sleeping(t)
	if branded(sleeper, marker) {
		t.Error("it has a brand")
	}
	brand(sleeper, marker)
	if !branded(sleeper, marker) || branded(sleeper, newMarker()) || branded(sleeper, "") {
		t.Error("its brand is wrong")
	}
	brand(sleeper, "no marker") // changes nothing
	var now unix.Rlimit
	if want, _ := brandOf(marker); unix.Prlimit(sleeper, brandLimit, nil, &now) != nil || now.Cur != want {
		t.Errorf("the limit is %d", now.Cur)
	}
	if got := markerOf([]string{"A=b", markerVar + "=" + marker}); got != marker {
		t.Errorf("the marker is %q", got)
	}
}
