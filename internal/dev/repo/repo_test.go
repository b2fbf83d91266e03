// Package repo tests the repository as a whole: its order of packages, sizes, documents and wording.
package repo

import (
	"os"
	"testing"

	"github.com/adze-dev/adze"
)

// helper is the result of Main: the tests are a program that embeds Adze.
var helper adze.Helper

func TestMain(m *testing.M) {
	helper = adze.Main() // in the processes that keep commands this does not return
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
