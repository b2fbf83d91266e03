package plugin

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
)

var helper proc.Helper

func TestMain(m *testing.M) {
	helper = proc.Main()
	os.Exit(m.Run())
}
