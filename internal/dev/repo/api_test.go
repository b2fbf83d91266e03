package repo

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stable are the packages of docs/stability.md. "." is adze itself.
var stable = []string{".", "agent", "builtin", "journal", "model", "permission", "tool", "tool/schema"}

const apiFile = "internal/dev/repo/api.txt"

// A change of the exported API of these packages is a decision: 'make golden' writes it, and the commit says why.
func TestAPI(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for _, dir := range stable {
		fmt.Fprintf(&page, "# %s\n\n%s\n", dir, exported(t, dir))
	}
	generated(t, apiFile, page.String())
	text, err := os.ReadFile("docs/stability.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([\\w/]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		named = append(named, strings.Replace(m[1], "adze", ".", 1))
	}
	if slices.Sort(named); !slices.Equal(named, stable) {
		t.Errorf("docs/stability.md has %q, the test %q", named, stable)
	}
}

// parsedFresh returns the files of a package on Linux, without tests.
func parsedFresh(t *testing.T, dir string, mode parser.Mode) (*token.FileSet, []*ast.File) {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH = "linux", "amd64"
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, mode)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return set, files
}

// exported returns the exported declarations of a package, sorted, without comments and bodies.
func exported(t *testing.T, dir string) string {
	t.Helper()
	set, files := parsedFresh(t, dir, parser.SkipObjectResolution)
	var decls []string
	for _, f := range files {
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body = nil; d.Recv == nil || isExported(d.Recv.List[0].Type) {
					decls = append(decls, printed(t, set, d))
				}
			case *ast.GenDecl:
				if d.Tok != token.IMPORT {
					decls = append(decls, printed(t, set, d))
				}
			}
		}
	}
	slices.Sort(decls)
	return strings.Join(decls, "\n") + "\n"
}

// printed returns a declaration, with values in place of their computation.
func printed(t *testing.T, set *token.FileSet, d ast.Decl) string {
	t.Helper()
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
		for _, s := range g.Specs {
			s.(*ast.ValueSpec).Values = []ast.Expr{ast.NewIdent("_")}
		}
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, set, d); err != nil {
		t.Fatal(err)
	}
	text, err := format.Source(regexp.MustCompile(`\n\s*\n`).ReplaceAll(b.Bytes(), []byte("\n")))
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return strings.TrimSpace(string(text))
}

// No exported name is an alias of an internal type: 'go doc' would show nothing of the type.
func TestInternalAliases(t *testing.T) {
	t.Parallel()
	for dir := range ownImports(t) {
		if strings.Contains("/"+dir+"/", "/internal/") || !slices.Contains([]string{"embedding", "library"}, layerOf(dir).name) {
			continue
		}
		_, files := parsedFresh(t, dir, 0)
		for _, f := range files {
			from := map[string]string{}
			for _, i := range f.Imports {
				path, _ := strconv.Unquote(i.Path.Value)
				name := filepath.Base(path)
				if i.Name != nil {
					name = i.Name.Name
				}
				from[name] = path
			}
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
					return true
				}
				if of, ok := spec.Type.(*ast.SelectorExpr); ok && strings.Contains(from[of.X.(*ast.Ident).Name], "/internal/") {
					t.Errorf("%s.%s is an alias of an internal type", dir, spec.Name.Name)
				}
				return true
			})
		}
	}
}

// The page of every package that programs embed begins with an example that runs as a test.
func TestExamplesOfPackages(t *testing.T) {
	t.Parallel()
	more := []string{"discover", "hook", "serve", "model/anthropic", "model/gemini", "model/openai", "model/replay", "model/responses"}
	for _, dir := range append(more, stable...) {
		ran := 0
		for _, f := range goSources(t).in(dir) {
			if f.isTest() {
				for _, e := range doc.Examples(f.file) {
					if e.Name == "" && (e.Output != "" || e.EmptyOutput) {
						ran++
					}
				}
			}
		}
		if ran == 0 {
			t.Errorf("package %s has no example of the whole package that runs", dir)
		}
	}
}
