package trial

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
)

// A trial read all of ~/.cache, and made caches that didn't exist in the real home directory.
func TestCaches(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{false, true} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		put := func(name, text string) {
			t.Helper()
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put("notes", "canary\n")
		if !fresh {
			put(".cache/go-build/warm", "warm\n")
			put(".cache/gh/token", "canary\n")
		}
		at := func(names string) (out []string) {
			for _, name := range strings.Fields(names) {
				out = append(out, filepath.Join(home, name))
			}
			return out
		}
		b := opened(t, Options{Home: home, CacheDirs: at(".cache"), Caches: at(".cache/go-build .npm/_cacache go/pkg/mod")})
		first, err := b.layers.New(context.Background())
		if err != nil || !first.HasCache() {
			t.Fatalf("no directory of caches: %v", err)
		}
		first.Drop()
		before := listed(t, home)
		run := func(line string) string {
			t.Helper()
			_, out, e := b.try("cd " + home + "; " + line)
			if !e.None() || len(e.NotKept) > 0 {
				t.Errorf("%s: %+v", line, e)
			}
			return out.Output.Head
		}
		if got := run("find .cache -type f | xargs -r cat; cat .cache/gh/token 2>/dev/null"); strings.Contains(got, "canary") || strings.Contains(got, "warm") == fresh {
			t.Errorf("fresh %v: read %q", fresh, got)
		}
		run("mkdir -p .cache/go-build .cache/other; for d in .cache/go-build .cache/other .npm/_cacache go/pkg/mod; do echo $d > $d/made; done")
		// A file of the user appears. What this session's trials made is still there.
		put(".cache/late/token", "canary\n")
		if got := run("cat .cache/go-build/made .cache/other/made .npm/_cacache/made go/pkg/mod/made; cat .cache/late/token"); !strings.HasPrefix(got, ".cache/go-build\n.cache/other\n.npm/_cacache\ngo/pkg/mod\n") || strings.Contains(got, "canary") {
			t.Errorf("fresh %v: then read %q", fresh, got)
		}
		for _, line := range []string{"echo x > w", "echo x > .npm/w", "mkdir go/bin", "rm -r .npm/_cacache", "mv .cache .c", "echo x > notes"} {
			if got := run(line + " 2>/dev/null && echo done"); strings.Contains(got, "done") {
				t.Errorf("fresh %v: %s worked", fresh, line)
			}
		}
		os.RemoveAll(filepath.Join(home, ".cache/late"))
		if fresh {
			os.Remove(filepath.Join(home, ".cache"))
		}
		if after := listed(t, home); after != before {
			t.Errorf("fresh %v: the home directory has %s, had %s", fresh, after, before)
		}
	}
}

func listed(t *testing.T, dir string) string {
	t.Helper()
	out, err := proc.Open(proc.Options{}).Run(t.Context(), proc.Command{Line: "find . | sort | xargs ls -ld --time-style=+ | awk '{print $1, $NF}'", Dir: dir})
	if err != nil || out.Exit != 0 {
		t.Fatal(err, out.Output.String())
	}
	return out.Output.String()
}
