package hook

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
)

// helper keeps the commands of the tests.
var helper Helper

func TestMain(m *testing.M) {
	helper = Helper(proc.Main())
	os.Exit(m.Run())
}
