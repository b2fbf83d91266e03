package proc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helper is what tests start keepers with: this test binary.
var helper Helper

func TestMain(m *testing.M) {
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
	goleak.VerifyTestMain(m)
}

// slack is how long what has a time goal may take: a hang is found, a busy
// machine is not blamed. What it does take stands in the log.
func slack(goal time.Duration) time.Duration { return 20 * goal }

// opened returns a Runner with keepers that is closed with the test, and says
// if that left anything.
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

// bareRunner is what a program without Main has.
func bareRunner(t testing.TB) *Runner {
	t.Helper()
	r := Open(Options{})
	t.Cleanup(func() { r.Close() })
	return r
}

// tagged returns an environment with a variable by which tagsLeft finds every
// process that a test has started.
func tagged(t testing.TB) (env []string, tag string) {
	tag = "PROC_TEST_TAG=" + newMarker()
	return append(Environ(os.Environ(), nil), tag), tag
}

// tagsLeft lists the processes that carry a tag, after giving zombies and
// signals a moment to go.
func tagsLeft(t testing.TB, tag string) []string {
	t.Helper()
	for end := time.Now().Add(slack(500 * time.Millisecond)); ; time.Sleep(5 * time.Millisecond) {
		if left := tagsNow(tag); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// tagsNow lists the processes that carry a tag.
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
