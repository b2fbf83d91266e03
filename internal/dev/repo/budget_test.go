package repo

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// budgets has the lines of code of each package, data that it embeds included. A change that needs more raises the number in
// the same commit, with 'make golden', and says what it removed or why nothing.
const budgets = "internal/dev/repo/budget.txt"

func TestBudget(t *testing.T) {
	counted, others := map[string]int{}, otherModules(t)
	for _, f := range goSources(t).all {
		if !f.isTest() && !f.below(others...) && !strings.Contains("/"+f.path, "/testdata/") && !ast.IsGenerated(f.file) {
			counted[filepath.ToSlash(filepath.Dir(f.path))] += codeLines(t, f)
		}
	}
	total := 0
	var page strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(counted)) {
		total += counted[dir]
		fmt.Fprintf(&page, "%6d %s\n", counted[dir], dir)
	}
	fmt.Fprintf(&page, "%6d total\n", total)
	if *update {
		generated(t, budgets, page.String())
		return
	}
	checkBudget(t, counted, total)
}

func checkBudget(t *testing.T, counted map[string]int, total int) {
	t.Helper()
	text, err := os.ReadFile(budgets)
	if err != nil {
		t.Fatal(err)
	}
	counted["total"] = total
	for line := range strings.Lines(string(text)) {
		var limit int
		var dir string
		if _, err := fmt.Sscan(line, &limit, &dir); err != nil {
			t.Fatalf("%s: %q: %v", budgets, line, err)
		}
		if counted[dir] > limit {
			t.Errorf("%s has %d lines of code, its budget is %d: remove something, or raise it ('make golden') "+
				"and say why in the commit", dir, counted[dir], limit)
		}
		delete(counted, dir)
	}
	for dir := range counted {
		t.Errorf("%s has no budget in %s: run 'make golden'", dir, budgets)
	}
}

var embedLine = regexp.MustCompile(`(?m)^//go:embed (.+)$`)

// codeLines counts the lines of a Go file that have code, and the lines of the text that it embeds.
func codeLines(t *testing.T, f source) int {
	t.Helper()
	lines := map[int]bool{}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(f.path, -1, len(f.text))
	s.Init(file, f.text, nil, 0)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue
		}
		for i := range strings.Count(text, "\n") + 1 {
			lines[file.Line(pos)+i] = true
		}
	}
	n := len(lines)
	for _, m := range embedLine.FindAllSubmatch(f.text, -1) {
		for _, pattern := range strings.Fields(string(m[1])) {
			n += dataLines(t, filepath.Join(filepath.Dir(f.path), pattern))
		}
	}
	return n
}

// dataLines counts the lines of embedded tables that aren't empty or comments. Descriptions in Markdown and web pages
// are texts, not data.
func dataLines(t *testing.T, pattern string) int {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if !slices.Contains([]string{".txt", ".json", ".tsv", ".csv"}, filepath.Ext(name)) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				n++
			}
		}
	}
	return n
}
