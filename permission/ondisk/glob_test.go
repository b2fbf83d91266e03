package ondisk

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestResolve(t *testing.T) {
	top := plant(t, "a/b/c.txt", "link -> a/b", "loop -> loop", "nowhere -> a/new/x")
	tests := []struct{ path, want string }{
		{top + "/a/b/c.txt", top + "/a/b/c.txt"},
		{top + "/link/c.txt", top + "/a/b/c.txt"},
		{top + "/link/../x", top + "/a/x"},
		{top + "/link/./new/deep/", top + "/a/b/new/deep"},
		{top + "/nowhere", top + "/a/new/x"},
		{top + "/loop/../a", "*"},
		{"/", "/"},
		{"a/../b", "b"},
		{"", "."},
	}
	d := open(options{})
	for _, tt := range tests {
		if got := d.Resolve(tt.path); got != filepath.FromSlash(tt.want) {
			t.Errorf("Resolve(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestGlob(t *testing.T) {
	top := plant(t, "a.go", "b.go", ".hidden.go", "c.txt", "dir/x.go", "dir/.env", "other/x.go", "link -> dir", "st*r", "é.md", "[x]")
	tests := []struct {
		pattern string
		want    []string
	}{
		{"*.go", []string{"a.go", "b.go"}},
		{"?.go", []string{"a.go", "b.go"}},
		{"?.md", []string{"é.md"}},
		{"??.md", []string{"é.md"}}, // in the locale C
		{"[a].go", []string{"a.go"}},
		{"[!a].go", []string{"b.go"}},
		{"[^a].go", []string{"b.go"}},
		{"[a-a].go", []string{"a.go", "b.go"}}, // too many, to be safe
		{".*", []string{".", "..", ".hidden.go"}},
		{"*/x.go", []string{"dir/x.go", "link/x.go", "other/x.go"}},
		{"link/../*.txt", []string{"link/../c.txt"}},
		{"*/", []string{"dir/", "link/", "other/"}},
		{"dir/.*", []string{"dir/.", "dir/..", "dir/.env"}},
		{`st\*r`, []string{"st*r"}},
		{`s*\*r`, []string{"st*r"}},
		{`\[x*`, []string{"[x]"}},
		{"[x*", []string{"[x]"}},
		{"nothing*", nil},
		{"c.txt/*", nil},
		{"absent/*", nil},
	}
	d := open(options{})
	for _, tt := range tests {
		got, ok := d.Glob(top + "/" + tt.pattern)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], top+"/")
		}
		slices.Sort(got)
		if !ok || cmp.Diff(tt.want, got) != "" {
			t.Errorf("Glob(%s) = %q, %v; want %q", tt.pattern, got, ok, tt.want)
		}
	}
}

func TestGlobBounds(t *testing.T) {
	var files []string
	for i := range 200 {
		files = append(files, fmt.Sprintf("d/%d/x", i))
	}
	top := plant(t, files...)
	if got, ok := open(options{entries: 100}).Glob(top + "/d/*/*"); ok {
		t.Errorf("%d paths", len(got))
	}
	if got, ok := open(options{entries: 1 << 30}).Glob(top + "/d" + strings.Repeat("/*/..", 3) + "/*"); ok {
		t.Errorf("%d paths out of 200 to the fourth", len(got))
	}
	if _, ok := open(options{}).Glob("*.go"); ok {
		t.Error("a relative pattern has an answer")
	}
}

// Glob finds at least all files that bash finds.
func TestGlobAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	top := plant(t, "a", "ab", "abc", "b.c", ".a", ".b.c", "d/a", "d/ab", "d/.a", "e/b.c", "l -> d", "a]", "a-b", "[", "é", "Ab", "-", "!a", "^")
	piece := rapid.SampledFrom([]string{"*", "?", "[", "]", "[!", "[^", "a", "b", "c", ".", "-", "/", "d/", "..", "[a-c]", "[[:alpha:]]", "[]a]", "[!]a]", "[a/b]", "é", "!", "^", `\*`, `\[`, `\]`, "[[=a=]]", "**"})
	const script = `shopt -s nullglob; IFS=; for p; do printf '%s\0' $p; printf 'end\0'; done`
	d := open(options{})
	rapid.Check(t, func(t *rapid.T) {
		var patterns []string
		for range 15 {
			patterns = append(patterns, strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pattern"), ""))
		}
		args := []string{"-c", script, "bash"}
		for _, p := range patterns {
			args = append(args, top+"/"+p)
		}
		c := exec.Command(bash, args...)
		c.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		var got []string
		ok := false
		for _, found := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			if string(found) == "end" {
				at++
				got = nil
				continue
			}
			if got == nil {
				if got, ok = d.Glob(top + "/" + patterns[at]); !ok {
					t.Fatalf("%q: no answer", patterns[at])
				}
			}
			path := string(found)
			if _, err := os.Lstat(path); err != nil || len(path) == 0 {
				continue // bash keeps a pattern that matches nothing
			}
			if !slices.ContainsFunc(got, func(g string) bool { return tidy(g) == tidy(path) }) {
				t.Fatalf("%q: bash finds %q, here %q", patterns[at], path, got)
			}
		}
	})
}

// tidy removes doubled slashes, which bash keeps in some places.
func tidy(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimSuffix(path, "/")
}
func plant(t testing.TB, paths ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		name, target, link := strings.Cut(p, " -> ")
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(strings.ReplaceAll(target, "$TOP", top), full)
		} else if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(full, 0o755)
		} else {
			err = os.WriteFile(full, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}
