package repo

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// Files and functions fit in the head of a reader, and a topic is in one file rather than in five.
const (
	maxFileLines  = 600
	maxFuncLines  = 100
	smallLines    = 80
	maxSmallShare = 0.25 // of the files that aren't tests
)

func TestSize(t *testing.T) {
	files, small := 0, 0
	all, others := goSources(t), otherModules(t)
	for _, f := range all.all {
		if f.below(others...) || ast.IsGenerated(f.file) {
			continue
		}
		n := bytes.Count(f.text, []byte("\n"))
		if n > maxFileLines {
			t.Errorf("%s has %d lines, over %d: split it by noun", f.path, n, maxFileLines)
		}
		if !f.isTest() {
			files++
			if n < smallLines {
				small++
			}
		}
		checkFuncs(t, all, f)
	}
	t.Logf("%d of %d files have fewer than %d lines", small, files, smallLines)
	if float64(small) > maxSmallShare*float64(files) {
		t.Errorf("%d of %d files have fewer than %d lines, more than %.0f %%: join files of one topic", small, files, smallLines, 100*maxSmallShare)
	}
}

// maxColumns is the width of a Go line, with tabs of four. Raw string literals can't be broken, and may be longer.
const maxColumns = 120

func TestColumns(t *testing.T) {
	all, others := goSources(t), otherModules(t)
	for _, f := range all.all {
		if f.isTest() || f.below(others...) || ast.IsGenerated(f.file) {
			continue
		}
		raw := rawLines(all, f)
		for i, line := range strings.Split(string(f.text), "\n") {
			n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if n > maxColumns && !raw[i+1] {
				t.Errorf("%s:%d has %d columns, over %d", f.path, i+1, n, maxColumns)
			}
		}
	}
}

// rawLines are the lines of a file with raw string literals.
func rawLines(all sources, f source) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '`' {
			for i := all.line(lit.Pos()); i <= all.line(lit.End()); i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}

func checkFuncs(t *testing.T, all sources, f source) {
	t.Helper()
	for _, d := range f.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := all.line(fn.End()) - all.line(fn.Pos()); n > maxFuncLines {
			t.Errorf("%s: func %s has %d lines, over %d", f.path, fn.Name.Name, n, maxFuncLines)
		}
	}
}
