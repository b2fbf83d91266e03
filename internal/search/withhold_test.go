package search

import (
	"os"
	"path/filepath"
	"testing"
)

// Files that a caller withholds are counted, and nothing else of them is in the result, totals included.
func TestWithhold(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", ".env"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("token\ntoken\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Compile(Query{Pattern: "token"})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Content, Paths, Counts} {
		res, err := Grep(t.Context(), GrepRequest{Pattern: p, Mode: mode, Scope: Scope{
			Paths: []string{dir}, Withhold: func(path string) bool { return filepath.Base(path) == ".env" },
		}})
		if err != nil || res.Withheld != 1 || res.MatchedFiles != 1 || len(res.Files) != 1 || filepath.Base(res.Files[0].Path) != "a.txt" {
			t.Errorf("mode %d: %+v, %v", mode, res, err)
		}
	}
}
