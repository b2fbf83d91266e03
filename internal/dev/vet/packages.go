package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// listed is a package as go list prints it: imported, with its tests, or tests in their own package.
type listed struct {
	ImportPath, Dir                 string
	GoFiles, SFiles, IgnoredGoFiles []string
	ImportMap                       map[string]string // of import paths to packages that are compiled for a test
	Module                          *analysis.Module
}

// list returns the packages below a directory, their tests and all that they import, each after its imports.
func list(dir, system, processor string) ([]listed, error) {
	fields := "-json=ImportPath,Dir,GoFiles,SFiles,IgnoredGoFiles,ImportMap,Module"
	cmd := exec.Command("go", "list", "-test", "-deps", fields, "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		// The main package of a test is generated when it is compiled; unsafe has no declarations.
		if !strings.HasSuffix(p.ImportPath, ".test") && p.ImportPath != "unsafe" {
			all = append(all, p)
		}
	}
}

// checker has the packages that were read.
type checker struct {
	fset     *token.FileSet
	sizes    types.Sizes
	packages map[string]*types.Package // by import path, as go list prints it
	facts    facts
	found    []string
}

func newChecker(processor string) *checker {
	return &checker{
		fset: token.NewFileSet(), sizes: types.SizesFor("gc", processor),
		packages: map[string]*types.Package{"unsafe": types.Unsafe}, facts: facts{},
	}
}

// check reads a package. One of this module gets all analyzers, another those that learn something for its importers.
func (c *checker) check(p listed) error {
	own := p.Module != nil && p.Module.Main
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{
		Importer: importer{c.packages, p.ImportMap}, Sizes: c.sizes,
		Error: func(err error) { c.report(err.Error()) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	pkg, err := conf.Check(path, c.fset, files, info)
	c.packages[p.ImportPath] = pkg
	if err != nil { // it was reported
		return nil
	}
	run := running{c: c, results: map[*analysis.Analyzer]any{}, report: own, pass: analysis.Pass{
		Fset: c.fset, Pkg: pkg, TypesInfo: info, TypesSizes: c.sizes, Module: p.Module, ReadFile: os.ReadFile,
		Files: files, OtherFiles: within(p.Dir, p.SFiles), IgnoredFiles: within(p.Dir, p.IgnoredGoFiles),
	}}
	for _, a := range suite {
		if !own && len(a.FactTypes) == 0 {
			continue
		}
		if _, err := run.of(a); err != nil {
			return fmt.Errorf("%s: %s: %w", p.ImportPath, a.Name, err)
		}
	}
	return nil
}

// report adds a problem: most packages are read twice, with and without their tests.
func (c *checker) report(problem string) {
	if !slices.Contains(c.found, problem) {
		c.found = append(c.found, problem)
	}
}

func within(dir string, names []string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// importer returns packages that were read before.
type importer struct {
	packages map[string]*types.Package
	mapped   map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.mapped[path]; ok {
		path = to
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("go list doesn't name %s", path)
}
