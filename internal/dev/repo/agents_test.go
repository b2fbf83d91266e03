package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// AGENTS.md says where things happen: the files and packages that it names exist, and so do the functions in them.
func TestAgentsPage(t *testing.T) {
	text, err := os.ReadFile("AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	functions := regexp.MustCompile("`([\\w.]+)` in `([\\w/]+\\.go)`").FindAllStringSubmatch(page, -1)
	if len(functions) < 5 {
		t.Errorf("it names %d functions", len(functions))
	}
	for _, f := range functions {
		source, err := os.ReadFile(filepath.FromSlash(f[2]))
		receiver, name, method := strings.Cut(f[1], ".")
		declared := `(?m)^func ` + f[1] + `\(`
		if method {
			declared = `(?m)^func \(\w+ \*?` + receiver + `\) ` + name + `\(`
		}
		if err != nil || !regexp.MustCompile(declared).Match(source) {
			t.Errorf("%s has no %s (%v)", f[2], f[1], err)
		}
	}
	for _, path := range regexp.MustCompile("`((?:adze|agent|builtin|cmd|discover|docs|examples|fleet|hook|internal|journal|model|permission|serve|tool)(?:/[\\w.-]+)+)`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.FromSlash(path[1])); err != nil {
			t.Error(err)
		}
	}
}
