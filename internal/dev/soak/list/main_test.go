package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSoaking(t *testing.T) {
	root := fstest.MapFS{
		"a/a_test.go": {Data: []byte("package a\nfunc TestMain(m *testing.M) { soak.On() }\nfunc TestDirect(t *testing.T) { for range soak.Count(1, 2) {} }\n" +
			"func TestThrough(t *testing.T) { helper() }\nfunc TestPlain(t *testing.T) { other() }\nfunc other() {}\n")},
		"a/b_test.go":          {Data: []byte("package a_test\nfunc helper() { deeper() }\nfunc deeper() { soak.Share() }\n")},
		"b/b_test.go":          {Data: []byte("package b\nfunc TestPlain(t *testing.T) {}\n")},
		"c/testdata/x_test.go": {Data: []byte("not Go")},
		"d/go.mod":             {Data: []byte("module d\n")},
		"d/e/e_test.go":        {Data: []byte("package e\nfunc TestOther(t *testing.T) { soak.On() }\n")},
		"c/c.go":               {Data: []byte("package c\nfunc TestNot() { soak.On() }\n")},
	}
	packages, tests, err := using("soak", root)
	if err != nil || strings.Join(packages, " ") != "./a" || strings.Join(tests, " ") != "TestDirect TestThrough" {
		t.Errorf("%q %q %v", packages, tests, err)
	}
}

// Every package of this repository whose tests import soak has tests that are run when it soaks.
func TestEverySoakIsRun(t *testing.T) {
	packages, tests, err := using("soak", os.DirFS("../../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TestKilledWriters", "TestParallelEditsLoseNone", "TestHostilePageMemory", "TestAgreesWithReference"} {
		if !slices.Contains(tests, want) {
			t.Errorf("%s is not run", want)
		}
	}
	for _, want := range []string{"./builtin", "./cmd/adze", "./discover", "./permission", "./tool", "./internal/engine/proc", "./internal/engine/search"} {
		if !slices.Contains(packages, want) {
			t.Errorf("%s is not run", want)
		}
	}
}
