package spill

import (
	"os"
	"strings"
	"testing"
)

// An endless output is saved up to its own limit and the session's, and the dropped bytes are reported.
func TestFileKeepsWithinLimits(t *testing.T) {
	dir, err := Open(t.TempDir(), "session", Limits{PerResult: 10, PerSession: 15})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, c := range []struct{ kept, dropped int64 }{{10, 10}, {5, 15}, {0, 20}} {
		f, err := dir.Create("../call", "run a/b")
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if n, err := f.Write([]byte("12345")); n != 5 || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		saved := f.Saved()
		content, err := os.ReadFile(saved.Path)
		if err != nil || string(content) != strings.Repeat("12345", 4)[:c.kept] || saved.Kept != c.kept || saved.Dropped != c.dropped {
			t.Errorf("%+v, %q, %v; want %+v", saved, content, err, c)
		}
		if info, err := os.Stat(saved.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// A file that was fetched keeps its ending, if that is an ordinary one.
func TestExtension(t *testing.T) {
	for name, want := range map[string]string{
		"a.tar.gz": ".gz", "page.HTML": ".HTML", "run_shell_command": "", "x.": "", "x.e/..": "", "x.\u202etxt": "", "x.toolongending": "", ".zip": ".zip",
	} {
		if got := extension(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
