package search

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// tree writes files given as "path" → content; a path that ends in a slash is a directory, "-> x" a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		p := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		to, isLink := strings.CutPrefix(data, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		case isLink:
			err = os.Symlink(to, p)
		default:
			err = os.WriteFile(p, []byte(data), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func mustCompile(t testing.TB, q Query) *Pattern {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// grep searches with both walks, which must agree.
func grep(t testing.TB, req GrepRequest) *GrepResult {
	t.Helper()
	res, err := Grep(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.portable = true
	other, err := Grep(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := show(res), show(other); a != b {
		t.Fatalf("the two walks disagree:\n%s\n---\n%s", a, b)
	}
	return res
}

// show prints a result as rg --heading -n does, with paths as they are.
func show(res *GrepResult) string {
	var b strings.Builder
	for _, f := range res.Files {
		b.WriteString(f.Path + " " + strconv.Itoa(f.Count) + "\n")
		for i, l := range f.Lines {
			if i > 0 && l.Number > f.Lines[i-1].Number+1 && f.Lines[i-1].Number > 0 {
				b.WriteString("--\n")
			}
			b.WriteString(strconv.Itoa(l.Number) + map[bool]string{true: ":", false: "-"}[l.Match] + l.Text + "\n")
		}
	}
	return b.String()
}

func rel(top, s string) string {
	return filepath.ToSlash(strings.ReplaceAll(s, top+string(filepath.Separator), ""))
}

// Tree lists everything, enters no directory that git ignores, and follows no link. Known directories stay as they are.
func TestTree(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".gitignore": "build/\n.env\n", ".adzeignore": "secret/\n", ".env": "1", "a/b": "1", "a/.hidden": "1", "build/x": "1",
		"secret/key": "1", ".git/HEAD": "1", "state/x": "1", "sub/build/y": "1",
	} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(top, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := ""
	if runtime.GOOS != "windows" {
		links = " link dangling"
		if err := os.Symlink("a", filepath.Join(top, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("nowhere", filepath.Join(top, "dangling")); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		known map[string]bool
		want  string
	}{
		{"first", nil, ".adzeignore .env .git .git/HEAD .gitignore a a/.hidden a/b build! empty secret secret/key sub sub/build!" + links},
		{"known", map[string]bool{"build": true, "secret": false}, ".adzeignore .env .git .git/HEAD .gitignore a a/.hidden a/b build build/x empty secret! sub sub/build!" + links},
	} {
		req := TreeRequest{Paths: []string{top}, Skip: []string{filepath.Join(top, "state")}}
		if tt.known != nil {
			req.Known = func(path string) (enter, known bool) {
				rel, _ := filepath.Rel(top, path)
				enter, known = tt.known[filepath.ToSlash(rel)]
				return enter, known
			}
		}
		res, err := Tree(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(tt.want)
		slices.Sort(want)
		var got []string
		for _, n := range res.Nodes {
			rel, _ := filepath.Rel(top, n.Path)
			rel = filepath.ToSlash(rel)
			if n.Shut {
				rel += "!"
			}
			got = append(got, rel)
			info, err := os.Lstat(n.Path)
			if err != nil || StatOf(info) != n.Stat {
				t.Errorf("%s: %+v, want %+v (%v)", rel, n.Stat, StatOf(info), err)
			}
		}
		slices.SortFunc(got, cmp.Compare[string])
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, want)
		}
	}
	if res, err := Tree(t.Context(), TreeRequest{Paths: []string{top}, Limit: 3}); err != nil || res.Incomplete != Enough || len(res.Nodes) < 3 {
		t.Errorf("limited: %d nodes, %q, %v", len(res.Nodes), res.Incomplete, err)
	}
}
