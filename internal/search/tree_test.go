package search

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/leaktest"
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

func rel(top, s string) string { return strings.ReplaceAll(s, top+string(filepath.Separator), "") }
