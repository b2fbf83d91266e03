package adze_test

import (
	"bytes"
	"go/ast"
	"testing"
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
