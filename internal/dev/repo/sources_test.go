package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file, with its comments.
type source struct {
	path string // slash-separated
	text []byte
	file *ast.File
}

// sources are the Go files of the repository, those of other modules and of testdata too.
type sources struct {
	set *token.FileSet
	all []source
}

// parsed parses them once for all tests, which only read them: with the race detector, it takes seconds.
var parsed = sync.OnceValues(func() (s sources, err error) {
	s.set = token.NewFileSet()
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(s.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		s.all = append(s.all, source{filepath.ToSlash(path), text, f})
		return err
	})
	return s, err
})

// goSources returns the Go files of the repository.
func goSources(t *testing.T) sources {
	t.Helper()
	s, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// line returns the line of a position.
func (s sources) line(p token.Pos) int { return s.set.Position(p).Line }

// in returns the files of one directory, without those below it.
func (s sources) in(dir string) (found []source) {
	for _, f := range s.all {
		if filepath.ToSlash(filepath.Dir(f.path)) == dir {
			found = append(found, f)
		}
	}
	return found
}

// isTest reports whether a file is part of a test.
func (f source) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// below reports whether a file is in one of some directories, or below it.
func (f source) below(dirs ...string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(f.path, dir+"/") {
			return true
		}
	}
	return false
}
