package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the path that imports of this repository begin with.
const module = "github.com/adze-dev/adze"

// starts are the functions that start goroutines, or are called in several.
var starts = []string{"Go", "Parallel", "AfterFunc"}

// threaded are packages of the standard library that call their users' code in several goroutines.
var threaded = []string{"net/http", "net/http/httptest", "os/signal", "testing/synctest"}

// files are the tests of a directory, or its other files.
type files struct {
	starts  bool // goroutines
	imports []string
}

// split lists the directories with tests: those in which goroutines are started, by their tests, their code or that of
// packages which they import, and the others.
func split(root fs.FS) (concurrent, sequential []string, err error) {
	all := map[string]files{} // by directory, or testsOf a directory
	err = walk(root, ".go", func(name string, f *ast.File) {
		key := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") {
			key = testsOf(key)
		}
		of := all[key]
		of.starts = of.starts || startsGoroutines(f)
		for _, i := range f.Imports {
			if in, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
				of.imports = append(of.imports, path.Clean("."+in))
			}
		}
		all[key] = of
	})
	for key := range all {
		dir, tests := strings.CutSuffix(key, testsOf(""))
		if !tests {
			continue
		}
		seen := map[string]bool{}
		if reaches(all, key, seen) || reaches(all, dir, seen) {
			concurrent = append(concurrent, "./"+dir)
		} else {
			sequential = append(sequential, "./"+dir)
		}
	}
	slices.Sort(concurrent)
	slices.Sort(sequential)
	return concurrent, sequential, err
}

// testsOf returns the key of a directory's tests, which no directory has.
func testsOf(dir string) string { return dir + " test" }

// reaches reports whether files, or those that they import, start goroutines.
func reaches(all map[string]files, key string, seen map[string]bool) bool {
	if seen[key] {
		return false
	}
	seen[key] = true
	return all[key].starts ||
		slices.ContainsFunc(all[key].imports, func(in string) bool { return reaches(all, in, seen) })
}

func startsGoroutines(f *ast.File) (found bool) {
	for _, i := range f.Imports {
		found = found || slices.Contains(threaded, strings.Trim(i.Path.Value, `"`))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || slices.Contains(starts, n.Sel.Name)
		}
		return !found
	})
	return found
}

// walk parses the Go files of this module whose names have an ending.
func walk(root fs.FS, ending string, each func(name string, f *ast.File)) error {
	return fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" ||
			e.Name() == "node_modules" || isModule(root, name)):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ending):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil {
			each(name, f)
		}
		return err
	})
}
