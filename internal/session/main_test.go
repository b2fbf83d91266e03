package session_test

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/builtin"
)

// helper keeps and sandboxes the commands of the tests.
var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = builtin.Main()
	os.Exit(m.Run())
}
