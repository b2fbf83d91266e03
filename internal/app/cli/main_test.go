package cli

import (
	"os"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/builtin"
)

// helper keeps commands of tests from escaping.
var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = adze.Main() // in the processes that keep commands this does not return
	os.Exit(m.Run())
}
