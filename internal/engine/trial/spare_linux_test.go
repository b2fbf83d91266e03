package trial

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// A trial that changed nothing leaves its directories to the next one, which sees
// the workspace as it is then. One that changed something doesn't.
func TestSpareDirectories(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{Temp: []string{"/tmp"}, Caches: []string{t.TempDir()}})
	b.write("a.txt", "one\n")
	used := map[string]bool{}
	try := func(line, output, effects string, again bool) {
		t.Helper()
		tr, out, e := b.try(line)
		if out.Output.Head != output || b.list(e) != effects {
			t.Errorf("%s: %q, %q", line, out.Output.Head, b.list(e))
		}
		if used[tr.home()] != again {
			t.Errorf("%s: the directories were used before: %v", line, !again)
		}
		used[tr.home()] = true
		if err := tr.Drop(); err != nil {
			t.Error(err)
		}
	}
	try("cat a.txt", "one\n", "", false)
	b.write("a.txt", "two\n")
	try("cat a.txt; touch /tmp/x", "two\n", "", true)
	if err := os.Chmod(b.root, 0o750); err != nil {
		t.Fatal(err)
	}
	try("stat -c %a . && echo three > a.txt", "750\n", "changed a.txt", true)
	try("cat a.txt", "two\n", "", false)
	try("chmod 700 .", "", "attributes changed . (mode 0750 → 0700)", true)
	try("stat -c %a .", "750\n", "", true)
	try("rm a.txt; mv b.txt a.txt 2>/dev/null; true", "", "deleted a.txt", true)
	try("cat a.txt", "two\n", "", false)
	if err := unix.Setxattr(b.root, "user.note", []byte("x"), 0); err == nil {
		try("ls", "a.txt\n", "", true)
		try("ls", "a.txt\n", "", false) // the upper has the attribute too
		try("ls", "a.txt\n", "", false)
	}
}

// Trials that run at a time never share directories.
func TestSparesOfConcurrentTrials(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{Temp: []string{"/tmp"}})
	for range 2 {
		homes := map[string]bool{}
		var all []*Trial
		for range maxSpares + 2 {
			tr, err := b.layers.New(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if homes[tr.home()] || tr.set == "" || homes[tr.set] {
				t.Errorf("%s and %s are shared", tr.home(), tr.set)
			}
			homes[tr.home()], homes[tr.set] = true, true
			all = append(all, tr)
		}
		for _, tr := range all {
			if err := tr.Drop(); err != nil {
				t.Error(err)
			}
		}
		if n := len(b.layers.spare); n != maxSpares {
			t.Errorf("%d spares", n)
		}
	}
	// What a process that was not dead yet has written meanwhile isn't an effect of a trial.
	for _, s := range b.layers.spare[1:] {
		if err := os.WriteFile(filepath.Join(upperIn(s.dirs[b.layers.kept[0].dir], 0), "late"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, out, e := b.try("ls"); out.Output.Head != "" || !e.None() || len(b.layers.spare) != 0 {
		t.Errorf("%q %s", out.Output.Head, b.list(e))
	}
}

// A session leaves directories without files to the next one. Files, which may contain anything, it removes itself.
func TestEmptyDirectoriesAreLeft(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{Temp: []string{"/tmp"}})
	o := b.layers.o
	left := func() []string {
		empty, _ := filepath.Glob(filepath.Join(o.State, emptyPrefix+"*"))
		sessions, _ := filepath.Glob(filepath.Join(o.State, "s-*"))
		return append(empty, sessions...)
	}
	for line, limit := range map[string]int{"true": 1, "mkdir -p /tmp/a/b": 1, "echo secret > /tmp/fence": 0, "ln -s /secret /tmp/a": 0} {
		tr, _, _ := b.try(line)
		if err := tr.Drop(); err != nil {
			t.Error(err)
		}
		if err := b.layers.Close(); err != nil {
			t.Error(err)
		}
		if found := left(); len(found) != limit || limit == 1 && !hasNoFiles(found[0]) {
			t.Errorf("%s: left %q", line, found)
		}
		b.layers = openLayers(t, o)
		waittest.Until(t, "the directories are removed", func() bool { return len(left()) == 1 })
	}
}

// A trial that follows at once gets the directories, and what the one before wrote to temp directories.
func TestDropLater(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{Temp: []string{"/tmp"}})
	home := ""
	for i, line := range []string{"echo 0 > /tmp/n", "cat /tmp/n; echo 1 > /tmp/n", "cat /tmp/n; echo 2 > /tmp/n"} {
		tr, out, _ := b.try(line)
		if i > 0 && (tr.home() != home || out.Output.Head != string(rune('0'+i-1))+"\n") {
			t.Errorf("%s: in %s after %s: %q", line, tr.home(), home, out.Output.Head)
		}
		home = tr.home()
		tr.DropLater()
	}
	if err := b.layers.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.layers.o.State, "*-*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
