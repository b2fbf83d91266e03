package builtin

import (
	"os"
	"testing"
)

// testHelper keeps the commands of the tests, as a program's own main would have it.
var testHelper Helper

func TestMain(m *testing.M) {
	testHelper = Main()
	os.Exit(m.Run())
}
