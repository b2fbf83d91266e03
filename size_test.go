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

// A rule on length that nothing checks is exceeded twenty-five times over, as others have found.
const (
	maxFileLines = 600
	maxFuncLines = 100
)

func TestSize(t *testing.T) {
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
		if n := bytes.Count(src, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines, over %d: split it by noun", path, n, maxFileLines)
		}
		checkFuncs(t, path, src)
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
