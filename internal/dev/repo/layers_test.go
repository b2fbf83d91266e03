package repo

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/adze-dev/adze/"

// layer is a group of packages with the same place in the package order.
type layer struct {
	name  string
	about string
	uses  []string // layers that its packages may import; every layer may import itself
	dirs  []string // directories; the library is everything else
}

// layers are the layers from top to bottom. The program knows settings and the terminal, the library knows tools, and
// engines know neither. Tools for development are in no program.
var layers = []layer{
	{
		name: "embedding", about: "the agent for other programs: adze.New", uses: []string{"program", "library", "engines"},
		dirs: []string{"."},
	},
	{
		name: "program", about: "flags, settings, sessions, terminal", uses: []string{"library", "engines"},
		dirs: []string{"cmd", "internal/app"},
	},
	{name: "library", about: "tools, permissions, models, agent loop", uses: []string{"engines"}},
	{name: "engines", about: "no tools, no settings", dirs: []string{"internal/engine"}},
	{
		name: "development", about: "tests, benchmarks, releases, examples", uses: []string{"embedding", "program", "library", "engines"},
		dirs: []string{"examples", "internal/dev"},
	},
}

// libraryOrder has the packages of the library that others embed one by one, and what each may import of it.
var libraryOrder = map[string]string{
	"tool":              "tool/schema",
	"tool/schema":       "",
	"model":             "tool",
	"agent":             "tool tool/schema model",
	"journal":           "tool model",
	"hook":              "",
	"serve":             "tool",
	"permission":        "tool permission/shell permission/shell/bash permission/shell/program permission/shell/form permission/shell/match",
	"permission/ondisk": "permission",
	"discover":          "tool tool/schema discover/internal/clean discover/internal/oauth discover/internal/stdio",
	"builtin":           "tool tool/schema builtin/command builtin/todo builtin/web",
	"builtin/todo":      "tool",
	"builtin/web":       "tool",
	"builtin/command":   "tool permission/environ permission/shell permission/shell/bash permission/shell/form",
}

// layerOf returns the layer of a package.
func layerOf(path string) layer {
	for _, l := range layers {
		for _, dir := range l.dirs {
			if path == dir || strings.HasPrefix(path, dir+"/") {
				return l
			}
		}
	}
	return layers[slices.IndexFunc(layers, func(l layer) bool { return l.dirs == nil })]
}

func TestLayers(t *testing.T) {
	for path, imports := range ownImports(t) {
		if parent, rest, ok := strings.Cut(path, "/"); parent == "internal" && ok && !slices.Contains([]string{"app", "engine", "dev"}, strings.Split(rest, "/")[0]) {
			t.Errorf("package %s: directories in internal are app, engine and dev", path)
		}
		l := layerOf(path)
		order, ordered := libraryOrder[path]
		for _, imported := range imports {
			other := layerOf(imported)
			switch {
			case other.name != l.name && !slices.Contains(l.uses, other.name):
				t.Errorf("package %s (%s) imports %s (%s), against the order of layers", path, l.name, imported, other.name)
			case ordered && other.name == l.name && !slices.Contains(strings.Fields(order), imported):
				t.Errorf("package %s imports %s, against the order of the library", path, imported)
			}
		}
	}
}

// The core can be used in any program: it needs nothing but the standard library and packages for suggestions and
// for texts such as "3 files".
func TestCoreImportsOnlyTheStandardLibrary(t *testing.T) {
	core := []string{"tool", "tool/schema", "internal/engine/nearest", "internal/engine/humanize"}
	for _, path := range core {
		for imported := range imports(t, path) {
			own, _ := strings.CutPrefix(imported, modulePath)
			if strings.Contains(strings.Split(imported, "/")[0], ".") && !slices.Contains(core, own) {
				t.Errorf("package %s imports %s", path, imported)
			}
		}
	}
}

// ownImports returns the packages of this module and what they import of it, tests aside.
func ownImports(t *testing.T) map[string][]string {
	t.Helper()
	all, others := map[string][]string{}, otherModules(t)
	for _, f := range goSources(t).all {
		dir := filepath.ToSlash(filepath.Dir(f.path))
		if _, done := all[dir]; done || f.below(others...) || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		all[dir] = nil
		for imported := range imports(t, dir) {
			if own, ok := strings.CutPrefix(imported+"/", modulePath); ok {
				all[dir] = append(all[dir], cmp.Or(strings.TrimSuffix(own, "/"), "."))
			}
		}
	}
	return all
}

// imports returns what the files of a directory import, tests aside.
func imports(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, f := range goSources(t).in(dir) {
		for _, spec := range f.file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !f.isTest() {
				found[path] = true
			}
		}
	}
	return found
}

// otherModules lists the directories of their own modules, which have their own tests.
func otherModules(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if entry.Name() == "go.mod" && path != "go.mod" {
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
