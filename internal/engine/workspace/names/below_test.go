package names

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// replaced are the comparisons that Below replaced, by the package that had them.
var replaced = map[string]func(path, dir string) bool{
	"names": func(path, dir string) bool {
		path, dir = filepath.Clean(path), filepath.Clean(dir)
		rest, found := strings.CutPrefix(path, dir)
		return found && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
	},
	"builtin": func(path, dir string) bool {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == '/' || dir == "/")
	},
	"sandbox": func(path, dir string) bool {
		return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
	},
	"trial": func(path, dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	},
	"session, cli, undo": func(path, dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	},
	"permission": func(path, dir string) bool {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && dir != "" && (rest == "" || rest[0] == '/' || dir[len(dir)-1] == '/')
	},
	"environ": func(path, dir string) bool {
		dir = filepath.Clean(dir)
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	},
}

// TestBelow compares Below with the seven versions that it replaced, which disagreed about paths that aren't canonical. Of a
// canonical path all gave the same answer. Of others Below gives the answer that the disk would give without links: a
// version that accepted more let a path escape its directory, and one that accepted less missed a path in a directory that is
// denied. wrong lists the versions that got it wrong.
func TestBelow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has other paths; see TestBelowWindows")
	}
	for _, c := range []struct {
		path, dir string
		rel       string // "": not below
		wrong     string
	}{
		// Canonical paths.
		{"/a", "/a", ".", ""},
		{"/a/b", "/a", "b", ""},
		{"/a/b/c", "/a", "b/c", ""},
		{"/ab", "/a", "", ""},
		{"/a-b/c", "/a", "", ""},
		{"/a", "/a/b", "", ""},
		{"/b", "/a", "", ""},
		{"/a/..b", "/a", "..b", ""},
		{"/a/...", "/a", "...", ""},
		{"/a/b\x00c", "/a", "b\x00c", ""},
		{"/a\x00", "/a", "", ""},
		{"/A/b", "/a", "", ""},
		{"/a/ b", "/a", " b", ""},
		{"/a /b", "/a", "", ""},
		{`/a\b`, "/a", "", ""},
		// The root directory.
		{"/", "/", ".", ""},
		{"/a", "/", "a", ""},
		{"/", "/a", "", ""},
		// Trailing and double slashes.
		{"/a/b", "/a/", "b", "builtin, sandbox"},
		{"/a", "/a/", ".", "builtin, sandbox, trial, permission"},
		{"/a/", "/a", ".", ""},
		{"/a//b", "/a", "b", ""},
		{"//a/b", "/a", "b", "builtin, sandbox, trial, permission, environ"},
		{"/a/b", "//a", "b", "builtin, sandbox, trial, permission"},
		{"/ab", "/a/", "", ""},
		// Dots.
		{"/a/../b", "/a", "", "builtin, sandbox, trial, permission, environ"},
		{"/a/..", "/a", "", "builtin, sandbox, trial, permission, environ"},
		{"/a/../a/b", "/a", "b", ""},
		{"/b/../a/c", "/a", "c", "builtin, sandbox, trial, permission, environ"},
		{"/a/./b", "/a", "b", ""},
		{"/a/b", "/a/.", "b", "builtin, sandbox, trial, permission"},
		{"/a/b", "/b/../a", "b", "builtin, sandbox, trial, permission"},
		{"/../a", "/a", ".", "builtin, sandbox, trial, permission, environ"},
		{"/a", "/a/..", "a", "builtin, sandbox, trial, permission"},
		// An unknown directory contains nothing, and an unknown path is in none.
		{"", "", "", "names, builtin, sandbox, trial, session, cli, undo"},
		{"/a", "", "", "builtin, sandbox, trial"},
		{"a", "", "", "session, cli, undo"},
		{"", "/a", "", ""},
		{"", "/", "", "sandbox"},
		{"", ".", "", "names, session, cli, undo"},
		// Relative paths are only comparable with relative ones.
		{"a/b", "a", "b", ""},
		{"ab", "a", "", ""},
		{"a", "/", "", "sandbox"},
		{"a", "/a", "", ""},
		{"/a", "a", "", ""},
		{"/a", ".", "", ""},
		{"a", ".", "a", "names, builtin, sandbox, trial, permission, environ"},
		{"..", ".", "", ""},
		{"../a", ".", "", ""},
		{"../../a", "..", "", "names, builtin, sandbox, trial, permission, environ"},
		{"../a", "..", "a", ""},
	} {
		rel, ok := Rel(c.path, c.dir)
		if ok != (c.rel != "") || ok && rel != c.rel {
			t.Errorf("Rel(%q, %q) = %q, %v; want %q", c.path, c.dir, rel, ok, c.rel)
		}
		if Below(c.path, c.dir) != ok {
			t.Errorf("Below(%q, %q) = %v, unlike Rel", c.path, c.dir, !ok)
		}
		for name, old := range replaced {
			if wrong := old(c.path, c.dir) != (c.rel != ""); wrong != strings.Contains(c.wrong, name) {
				t.Errorf("%s(%q, %q) was wrong: %v; the table says %q", name, c.path, c.dir, wrong, c.wrong)
			}
		}
	}
}

// FuzzBelow shows that every version that Below replaced agrees about canonical paths.
func FuzzBelow(f *testing.F) {
	f.Add("/a/b", "/a")
	f.Add("/ab", "/a")
	f.Add("/", "/")
	f.Fuzz(func(t *testing.T, path, dir string) {
		path, dir = filepath.Clean("/"+path), filepath.Clean("/"+dir)
		for name, old := range replaced {
			if got, want := Below(path, dir), old(path, dir); got != want && runtime.GOOS != "windows" {
				t.Errorf("Below(%q, %q) = %v, %s had %v", path, dir, got, name, want)
			}
		}
		if rel, ok := Rel(path, dir); ok && filepath.Join(dir, rel) != path {
			t.Errorf("Rel(%q, %q) = %q", path, dir, rel)
		}
	})
}

func TestBelowWindows(t *testing.T) {
	if runtime.GOOS != "windows" {
		t.Skip("needs Windows")
	}
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{`C:\a\b`, `C:\a`, true},
		{`c:\A\b`, `C:\a`, true},
		{`C:/a/b`, `C:\a`, true},
		{`C:\ab`, `C:\a`, false},
		{`D:\a\b`, `C:\a`, false},
		{`C:\a\NUL`, `C:\a`, false},
		{`C:\a\..\b`, `C:\a`, false},
		{`\\host\share\a`, `\\host\share`, true},
		{`\\host\share\a`, `C:\`, false},
	} {
		if got := Below(c.path, c.dir); got != c.want {
			t.Errorf("Below(%q, %q) = %v", c.path, c.dir, got)
		}
	}
}

func TestBelowAny(t *testing.T) {
	set := map[string]bool{filepath.FromSlash("/a/b"): true}
	for path, want := range map[string]bool{"/a/b": true, "/a/b/c/d": true, "/a": false, "/a/bc": false, "/": false, "": false} {
		if got := BelowAny(filepath.FromSlash(path), set); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
