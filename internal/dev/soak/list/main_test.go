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

// A package is sequential if neither it nor its tests nor what they import start a goroutine.
func TestSplit(t *testing.T) {
	root := fstest.MapFS{
		"go.mod":            {Data: []byte("module github.com/adze-dev/adze\n")},
		"plain/a.go":        {Data: []byte("package plain\nimport _ \"strings\"\n")},
		"plain/a_test.go":   {Data: []byte("package plain\n// go func() {}()\nfunc TestX() {}\n")},
		"starts/a.go":       {Data: []byte("package starts\nfunc F() { go F() }\n")},
		"starts/a_test.go":  {Data: []byte("package starts\n")},
		"group/a_test.go":   {Data: []byte("package group\nfunc TestX() { var wg sync.WaitGroup; wg.Go(nil) }\n")},
		"server/a_test.go":  {Data: []byte("package server\nimport _ \"net/http/httptest\"\n")},
		"through/a.go":      {Data: []byte("package through\nimport _ \"github.com/adze-dev/adze/middle\"\n")},
		"through/a_test.go": {Data: []byte("package through\n")},
		"middle/a.go":       {Data: []byte("package middle\nimport _ \"github.com/adze-dev/adze/starts\"\n")},
		"testing/a_test.go": {Data: []byte("package testing\nimport _ \"github.com/adze-dev/adze/middle\"\n")},
		"beside/a.go":       {Data: []byte("package beside\nimport _ \"github.com/adze-dev/adze/group\"\n")},
		"beside/a_test.go":  {Data: []byte("package beside\n")},
	}
	concurrent, sequential, err := split(root)
	if got, want := strings.Join(concurrent, " "), "./group ./server ./starts ./testing ./through"; got != want || err != nil {
		t.Errorf("concurrent: %s (%v)", got, err)
	}
	if got, want := strings.Join(sequential, " "), "./beside ./plain"; got != want {
		t.Errorf("sequential: %s", got)
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
