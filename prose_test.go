package adze_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// prose is a text for users: at least three words.
var prose = regexp.MustCompile(`[A-Za-z']{2,} [A-Za-z']+ [A-Za-z']{2,}`)

// foreign are texts of other programs and libraries, which say it in no other way.
var foreign = []string{
	"unrecognized content type", "failed to decode response", "request terminated without response", // the MCP SDK
	"server gave HTTP response to HTTPS client",    // net/http
	"no new privileges",                            // sudo
	"panic: test timed out", "created by testing.", // go test
}

// No decision depends on a text that Adze itself shows: those change.
func TestNoDecisionByProse(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin" || name == "testdata" || path == filepath.Join("internal", "bench")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		check := func(e ast.Expr) {
			t.Helper()
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			if text, _ := strconv.Unquote(lit.Value); prose.MatchString(text) && !slices.Contains(foreign, text) {
				t.Errorf("%s: compares with %s", files.Position(lit.Pos()), lit.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					check(n.X)
					check(n.Y)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					check(e)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok {
					if x, ok := f.X.(*ast.Ident); ok && (x.Name == "strings" || x.Name == "bytes") && regexp.MustCompile(`^(Has|Contains|Equal|Index|Cut|Trim|Split|Count)`).MatchString(f.Sel.Name) {
						for _, e := range n.Args {
							check(e)
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
