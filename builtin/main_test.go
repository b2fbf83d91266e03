package builtin

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// testRunner returns a runner, which knows what works on this machine.
func testRunner(t *testing.T) *proc.Runner {
	r := proc.Open(proc.Options{Helper: proc.Helper(testHelper)})
	t.Cleanup(func() { r.Close() })
	return r
}

// testHelper runs the commands of the tests, as from a program's main.
var testHelper Helper

func TestMain(m *testing.M) {
	testHelper = Main()
	os.Exit(plainadze.Run(func(path string) { testHelper = Helper(proc.HelperAt(path)) }, m.Run))
}
