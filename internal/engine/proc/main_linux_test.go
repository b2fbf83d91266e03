package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// helper starts keepers from this test binary, or from unraced.
var helper Helper

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == kernelArg { // see TestKeeperThatFailsOnce
		if err := kerneltest.Become(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Args = append(os.Args[:1], os.Args[3:]...)
	}
	helper = Main()
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // every keeper would sleep a second
	}
	if os.Getenv("BOX_ATTEMPT") != "" {
		os.Exit(attempt())
	}
	if os.Getenv("PROC_TEST_PROGRAM") != "" {
		os.Exit(victim())
	}
	os.Exit(runUnraced(func() int { return leaktest.Run(m) }))
}

// slack returns a hang bound for an operation with a time goal. It is long enough
// for a slow machine; the log has the measured times.
func slack(goal time.Duration) time.Duration { return 30*time.Second + 20*goal }

// hangTime is when something that waits for nothing counts as hanging.
const hangTime = 5 * time.Minute

// ended waits for the end of a command.
func ended(t testing.TB, p *Process) Outcome {
	t.Helper()
	within(t, p, p.Done())
	return p.Wait()
}

// within waits for something that a command does. If it hangs, the test fails with what the command's processes do.
func within(t testing.TB, p *Process, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
		return
	case <-time.After(hangTime):
	}
	all := []int{}
	if k, ok := p.tree.(*kept); ok {
		all = append(all, k.id.pid)
		for _, d := range descendants(k.id.pid) {
			all = append(all, d.pid)
		}
	}
	var state strings.Builder
	for _, pid := range all {
		tasks, _ := filepath.Glob(procFile(pid, "task/*"))
		for _, task := range append([]string{procFile(pid, "")}, tasks...) {
			for _, name := range []string{"cmdline", "stat", "syscall", "stack"} {
				text, _ := os.ReadFile(filepath.Join(task, name))
				fmt.Fprintf(&state, "%s/%s: %q\n", task, name, text)
			}
		}
	}
	p.Stop()
	t.Fatalf("%q %q hangs: %+v\n%s", p.cmd.Line, p.cmd.Argv, p.Progress(), state.String())
}

// longer runs a command that is stopped by its Timeout, and runs it again with
// twice the Timeout until ok: on a slow machine a short limit can pass before
// the command has printed anything.
func longer(t testing.TB, r *Runner, c Command, ok func(Outcome) bool) Outcome {
	t.Helper()
	for {
		o := run(t, r, c)
		if ok(o) || c.Timeout > 2*time.Minute {
			return o
		}
		c.Timeout *= 2
	}
}

// printed returns a condition for longer.
func printed(text string) func(Outcome) bool {
	return func(o Outcome) bool { return strings.Contains(o.Output.Head, text) }
}

// opened returns a Runner with keepers. It is closed after the test; an error of
// Close fails the test.
func opened(t testing.TB, opt Options) *Runner {
	t.Helper()
	opt.Helper = helper
	r := Open(opt)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// bareRunner returns the Runner of a program that doesn't call Main.
func bareRunner(t testing.TB) *Runner {
	t.Helper()
	r := Open(Options{})
	t.Cleanup(func() { r.Close() })
	return r
}

// tagged returns an environment with a variable that tagsLeft uses to find every
// process of a test.
func tagged(t testing.TB) (env []string, tag string) {
	tag = "PROC_TEST_TAG=" + newMarker()
	return append(Environ(os.Environ(), nil), tag), tag
}

// tagsLeft lists the processes that still have a tag after some time for zombies
// and signals.
func tagsLeft(t testing.TB, tag string) []string {
	t.Helper()
	var left []string
	waittest.Holds(func() bool {
		left = tagsNow(tag)
		return len(left) == 0
	})
	return left
}

// tagsNow lists the processes that have a tag.
func tagsNow(tag string) (found []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+tag+"\x00") {
			cmd, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			found = append(found, fmt.Sprintf("%s %q", e.Name(), cmd))
		}
	}
	return found
}
