package repo

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A variable that a recipe passes to make replaces the one of the same name in the file. PROGRAMS was passed, so that
// cmd/adze and internal/dev were tested twice, once with the race detector.
func TestMakefileAddsNoVariable(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)\s*[:?]?=`).FindAllSubmatch(text, -1) {
		own[string(m[1])] = true
	}
	passed := 0
	for _, call := range regexp.MustCompile(`(?m)\$\(MAKE\).*$`).FindAll(text, -1) {
		for _, m := range regexp.MustCompile(`\s([A-Z_]+)=`).FindAllSubmatch(call, -1) {
			if passed++; own[string(m[1])] {
				t.Errorf("Makefile: %q replaces its own variable %s", call, m[1])
			}
		}
	}
	if passed == 0 || len(own) == 0 {
		t.Error("Makefile: no variable is passed or set, so this test is outdated")
	}
}

// What the Makefile runs exists: make bench ran a package of fleet at a path that it no longer had.
func TestMakefileRunsWhatExists(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile(`go (-C fleet )?run (?:\$\(PLAIN\) )?(\./[\w/]+)`).FindAllStringSubmatch(string(text), -1) {
		dir := m[2]
		if found++; m[1] != "" {
			dir = "fleet/" + dir
		}
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	if found < 5 {
		t.Errorf("Makefile runs %d packages", found)
	}
}

// Every module of the repository is tested by make test-modules.
func TestModulesAreTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^MODULES := (.*)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the Makefile has no MODULES")
	}
	tested, all := strings.Fields(m[1]), otherModules(t)
	slices.Sort(tested)
	if slices.Sort(all); !slices.Equal(tested, all) {
		t.Errorf("make test-modules has %q, the repository %q", tested, all)
	}
}
