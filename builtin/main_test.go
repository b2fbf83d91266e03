package builtin

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// testHelper runs the commands of the tests, as from a program's main.
var testHelper Helper

func TestMain(m *testing.M) {
	testHelper = Main()
	os.Exit(plainadze.Run(func(path string) { testHelper = proc.HelperAt(path) }, m.Run))
}
