package adze_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || ownModule(path)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil || ast.IsGenerated(mustParse(t, path, src)) {
			return err
		}
		n := bytes.Count(src, []byte("\n"))
		if n > maxFileLines {
			t.Errorf("%s has %d lines, over %d: split it by noun", path, n, maxFileLines)
		}
		if !strings.HasSuffix(path, "_test.go") {
			files++
			if n < smallLines {
				small++
			}
		}
		checkFuncs(t, path, src)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d files have fewer than %d lines", small, files, smallLines)
	if float64(small) > maxSmallShare*float64(files) {
		t.Errorf("%d of %d files have fewer than %d lines, more than %.0f %%: join files of one topic", small, files, smallLines, 100*maxSmallShare)
	}
}

func mustParse(t *testing.T, path string, src []byte) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checkFuncs(t *testing.T, path string, src []byte) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line; n > maxFuncLines {
			t.Errorf("%s: func %s has %d lines, over %d", path, fn.Name.Name, n, maxFuncLines)
		}
	}
}
