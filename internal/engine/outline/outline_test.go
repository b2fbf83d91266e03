package outline

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected outlines")

// Each fixture has a file with its outline beside it.
func TestFixtures(t *testing.T) {
	sources, err := filepath.Glob("testdata/*/source.*")
	if err != nil || len(sources) < 8 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := List(Of(source, string(text)), 1000, 1<<20)
		expected := filepath.Join(filepath.Dir(source), "outline.txt")
		if *update {
			if err := os.WriteFile(expected, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(expected); err != nil || got != string(want) {
			t.Errorf("%s:\n%swant (%v):\n%s", source, got, err, want)
		}
		if crlf, _ := List(Of(source, strings.ReplaceAll(string(text), "\n", "\r\n")), 1000, 1<<20); crlf != got {
			t.Errorf("%s with CRLF:\n%s", source, crlf)
		}
	}
}

// In Go's own source, the expressions find the same functions, methods and types as the parser, groups of types aside.
func TestStandardLibrary(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, pattern := range []string{"net/http/*.go", "go/*/*.go", "runtime/*.go", "encoding/*/*.go"} {
		names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parseGo(string(source))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			byLine := map[int]Declaration{}
			for _, d := range languages()[".go"].declarations(string(source)) {
				byLine[d.Line] = d
			}
			lines := strings.Split(string(source), "\n")
			for _, d := range parsed {
				if !d.Minor && strings.HasPrefix(lines[d.Line-1], d.Kind) && byLine[d.Line] != d {
					t.Errorf("%s: %v and %v", name, d, byLine[d.Line])
				}
			}
			files++
		}
	}
	if files < 300 {
		t.Errorf("only %d files", files)
	}
}

// A line directive of generated Go doesn't change where a declaration is.
func TestLineDirective(t *testing.T) {
	all := Of("a.go", "package a\n\n//line b.y:100\nfunc f() {}\n")
	if len(all) != 1 || all[0].Line != 4 {
		t.Error(all)
	}
}

// Go that can't be parsed has an outline too.
func TestBrokenGo(t *testing.T) {
	got, _ := List(Of("a.go", "package a\nfunc f( {\n}}}\n<<<<<<<\ntype T struct {\nfunc (t *T) m() {\n\tfunc x() {\n"), 60, 2000)
	if want := "2: func f\n5: type T\n6: func (t *T) m\n"; got != want {
		t.Errorf("%s", got)
	}
}

func TestUnknownLanguage(t *testing.T) {
	for name, source := range map[string]string{"a.txt": "class A:\n", "py": "class A:\n", "a.py": strings.Repeat("class A:\n", 300_000)} {
		if all := Of(name, source); all != nil {
			t.Errorf("%s: %v", name, all[0])
		}
	}
}

// Outer declarations are listed first; of those at the depth that doesn't fit, evenly distributed ones.
func TestList(t *testing.T) {
	var source strings.Builder
	for i := range 50 {
		fmt.Fprintf(&source, "LIMIT_%d = 1\nclass C%d:\n    def a(self):\n        pass\n    def b(self):\n        pass\n", i, i)
	}
	all := Of("a.py", source.String())
	if len(all) != 200 {
		t.Fatal(len(all))
	}
	for _, c := range []struct{ lines, bytes, listed, classes, first int }{
		{1000, 1 << 20, 200, 50, 1},
		{100, 1 << 20, 100, 50, 2},
		{60, 1 << 20, 60, 50, 2},
		{160, 1 << 20, 160, 50, 1},
		{20, 1 << 20, 20, 20, 2},
		{1000, 300, 19, 19, 2},
		{1, 1 << 20, 1, 1, 2},
		{60, 5, 0, 0, 0},
		{0, 2000, 0, 0, 0},
	} {
		text, n := List(all, c.lines, c.bytes)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if n != c.listed && c.bytes > 1000 || n > c.lines || len(text) > c.bytes || strings.Count(text, "\n") != n {
			t.Errorf("%+v: %d listed, %d bytes", c, n, len(text))
		}
		if strings.Count(text, "class") != c.classes && c.bytes > 1000 {
			t.Errorf("%+v: %s", c, text)
		}
		if n > 0 && !strings.HasPrefix(lines[0], fmt.Sprint(c.first, ": ")) {
			t.Errorf("%+v: %s", c, text)
		}
	}
	if text, n := List(nil, 60, 2000); text != "" || n != 0 {
		t.Error(text, n)
	}
}

// A name is shown as a whole or not at all: a part of it could be a part of a secret that isn't recognized any more.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", maxName+1)
	for name, source := range map[string]string{
		"a.go": "package a\n\nfunc " + long + "() {}\n", "b.go": "package a\n\nfunc " + long + "() {\n",
		"a.py": "def " + long + "():\n", "a.js": "function " + long + "() {}\n",
		"cut.py": strings.Repeat(" ", maxColumns-10) + "def abcdefghijklmn():\n",
	} {
		if all := Of(name, source); len(all) != 0 {
			t.Errorf("%s: %v", name, all)
		}
	}
}

// Sources that could take an expression long. The bound is no goal: each takes at most two seconds.
func TestHostileSources(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"a.c": "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a(", "b.c": "a<a<a<a<a<a<a<a<a<a<a<a<a::",
		"c.cpp": "template<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<>>>>>>>>>>>>>>>>>(\n", "a.java": "    a<a<a<a<a<a<a<a<a<a<a a a a a a(\n",
		"a.js": "   get get get get get get get get set (", "b.js": "`", "c.js": "/*", "d.js": "const a = (((((((((((((((((((((((\n",
		"a.rs": "impl<impl<impl<impl<impl<", "b.rs": "pub(pub(pub( fn", "a.rb": "def def def def", "a.py": "class\nclass\n",
		"b.py": `"""`, "a.go": "func (func (func (func (", "b.go": "((((((((((((((", "c.go": "package a\nfunc f() {\n{{{{{{{{{",
	} {
		began := time.Now()
		Of(name, strings.Repeat(unit, size/len(unit)))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: %s", name, took)
		}
	}
}

func FuzzOf(f *testing.F) {
	sources, err := filepath.Glob("testdata/*/source.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(source), string(text))
	}
	f.Fuzz(func(t *testing.T, extension, source string) {
		all, lines := Of("a"+extension, source), strings.Count(source, "\n")+1
		last := 0
		for _, d := range all {
			if d.Line < last || d.Line > lines || d.Depth < 0 || d.Name == "" || len(d.Name) > maxName || strings.Contains(d.Name, "\n") {
				t.Fatalf("%+v", d)
			}
			last = d.Line
		}
		if text, n := List(all, 60, 2000); n > 60 || len(text) > 2000 || n != strings.Count(text, "\n") {
			t.Fatal(n, text)
		}
	})
}
