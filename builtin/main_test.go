package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/proc"
)

// testHelper runs the commands of the tests, as from a program's main.
var testHelper Helper

// keeperVariable names the program for helper processes, for tests in child processes.
const keeperVariable = "BUILTIN_TEST_KEEPER"

func TestMain(m *testing.M) {
	testHelper = Main()
	os.Exit(withPlainKeepers(m.Run))
}

// withPlainKeepers runs the tests. Those with the race detector start keepers from a program without it, because a thousand
// keepers with it take most of the time. cmd/adze has stories with such keepers.
func withPlainKeepers(run func() int) int {
	if path := os.Getenv(keeperVariable); path != "" {
		if _, err := os.Stat(path); err == nil { // not every such process sees it
			testHelper = proc.HelperAt(path)
		}
		return run()
	}
	if !raceEnabled {
		return run()
	}
	dir, err := os.MkdirTemp("", "adze-keeper-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "adze")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "github.com/adze-dev/adze/cmd/adze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build adze: %v\n%s", err, out)
		return 1
	}
	os.Chmod(dir, 0o755)
	os.Setenv(keeperVariable, path)
	testHelper = proc.HelperAt(path)
	return run()
}
