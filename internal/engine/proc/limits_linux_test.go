package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// limited is a workspace with a secret, a directory outside of it with another,
// and a read-only sandbox that limits reads.
type limited struct {
	dir, outside string
	spec         *sandbox.Spec
	runner       *Runner
}

func newLimited(t *testing.T) *limited {
	t.Helper()
	l := furnished(t)
	if _, err := l.spec.Plan(); err != nil {
		t.Skipf("reads can't be limited here: %v", err)
	}
	return l
}

// furnished makes the directories of a limited command.
func furnished(t *testing.T) *limited {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &limited{dir: filepath.Join(base, "work"), outside: filepath.Join(base, "outside"), runner: Open(Options{Helper: helper})}
	t.Cleanup(func() { l.runner.Close() })
	for path, text := range map[string]string{
		"work/a.txt": "plain\n", "work/.env": "CANARY=inside\n", "work/sub/key.pem": "CANARY=key\n", "work/evil": "#!/bin/sh\necho CANARY=ran\n",
		"outside/file": "CANARY=outside\n",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(base, path)), 0o700)
		if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside/file", filepath.Join(l.dir, "link")); err != nil {
		t.Fatal(err)
	}
	limits := places.Surroundings{Roots: []string{l.dir}, System: []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt"}, Env: os.Environ()}.Limits()
	covers := sandbox.Empty.Cover(filepath.Join(l.dir, ".env"), filepath.Join(l.dir, "sub/key.pem"), filepath.Join(l.dir, "gone"))
	l.spec = &sandbox.Spec{Mode: sandbox.ReadOnly, Limits: limits, Covers: covers}
	return l
}

func (l *limited) run(t *testing.T, line string, spec *sandbox.Spec) Outcome {
	t.Helper()
	o, err := l.runner.Run(t.Context(), Command{Line: line, Dir: l.dir, Sandbox: spec, Timeout: hangTime})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

// eachLimited runs a test with the built-in sandbox and with bubblewrap, where it works.
func eachLimited(t *testing.T, test func(t *testing.T, l *limited)) {
	t.Run("built-in", func(t *testing.T) { test(t, newLimited(t)) })
	t.Run("bubblewrap", func(t *testing.T) {
		l := newLimited(t)
		l.spec.Bubblewrap = true
		if p, err := l.spec.Plan(); err != nil || !p.Layers.Has(sandbox.Bubblewrap) {
			t.Skipf("no bubblewrap: %v %v", p.Notes, err)
		}
		test(t, l)
	})
}

// A limited command doesn't read or run what it must not; without the limits it does.
func TestLimitsHold(t *testing.T) { eachLimited(t, testLimitsHold) }

func testLimitsHold(t *testing.T, l *limited) {
	for _, line := range []string{
		"cat .env", "cat sub/key.pem", "grep -rh CANARY . --include=.env", "cat link", "cat ../outside/file", "cd / && cat ." + l.outside + "/file",
		"cat /proc/self/root" + l.outside + "/file", "cat /proc/self/cwd/.env", "./evil", "sh -c ./evil",
		"cp evil $TMPDIR/evil && $TMPDIR/evil", "ls ../outside && echo CANARY", "exec 3<../outside/file && cat <&3",
		"for p in /proc/[0-9]*; do cat $p/root" + l.dir + "/.env $p/cwd/.env; done 2>/dev/null",
		"tar cf - . 2>/dev/null | tar xOf - ./.env", "find . -name .env -exec cat {} +", "cat < .env",
		"for t in /proc/1/task/*; do cat $t/root" + l.dir + "/.env; done; cat /proc/1/cwd/.env",
	} {
		t.Run(line, func(t *testing.T) {
			if o := l.run(t, line, nil); !strings.Contains(o.Output.String(), "CANARY") && !strings.Contains(line, "/proc/1/") {
				t.Fatalf("proves nothing: without a sandbox it prints %q", o.Output.String())
			}
			if o := l.run(t, line, l.spec); strings.Contains(o.Output.String(), "CANARY") {
				t.Errorf("printed %q", o.Output.String())
			}
		})
	}
}

// Without one of the enforcements, a secret gets through: the test above can fail.
func TestLimitsAreWhatHolds(t *testing.T) { eachLimited(t, testLimitsAreWhatHolds) }

func testLimitsAreWhatHolds(t *testing.T, l *limited) {
	bare := func(change func(*sandbox.Spec)) *sandbox.Spec {
		spec, limits := *l.spec, *l.spec.Limits
		spec.Limits = &limits
		change(&spec)
		return &spec
	}
	for _, c := range []struct {
		name, line string
		spec       *sandbox.Spec
	}{
		{"hide", "cat .env", bare(func(s *sandbox.Spec) { s.Covers = nil })},
		{"read", "cat link", bare(func(s *sandbox.Spec) { s.Limits.Read = append(slices.Clip(s.Limits.Read), "/") })},
		{"execute", "./evil", bare(func(s *sandbox.Spec) { s.Limits.Execute = append(slices.Clip(s.Limits.Execute), l.dir) })},
	} {
		if o := l.run(t, c.line, c.spec); !strings.Contains(o.Output.String(), "CANARY") {
			t.Errorf("without %s: %q printed %q", c.name, c.line, o.Output.String())
		}
	}
}

// Ordinary reading works, and the outcome names the hidden files that were opened.
func TestLimitedWork(t *testing.T) { eachLimited(t, testLimitedWork) }

func testLimitedWork(t *testing.T, l *limited) {
	for line, want := range map[string]string{
		"cat a.txt": "plain\n", "cat /etc/hostname >/dev/null && echo ok": "ok\n", "head -c1 /proc/cpuinfo | wc -c": "1\n",
		"echo x > $TMPDIR/x && cat $TMPDIR/x": "x\n", "ls | head -1": "a.txt\n", "cat .env": "", "cat <(echo sub)": "sub\n", "cat <<< here": "here\n",
		"git --version >/dev/null && echo ok": "ok\n", "ls -A $TMPDIR | wc -l": "0\n", "stat -c %s-%a .env": "0-444\n", "echo x 2>/dev/null > .env; cat .env": "",
	} {
		if o := l.run(t, line, l.spec); o.Output.String() != want || o.Exit != 0 {
			t.Errorf("%s: exit %d, %q, want %q", line, o.Exit, o.Output.String(), want)
		}
	}
	if o := l.run(t, "cat .env a.txt; ls -l sub/key.pem", l.spec); !cmp.Equal(o.Hidden, []string{filepath.Join(l.dir, ".env")}) || o.MoreHidden {
		t.Errorf("hidden: %q %v", o.Hidden, o.MoreHidden)
	}
	if o := l.run(t, "cat a.txt", l.spec); o.Hidden != nil {
		t.Errorf("hidden: %q", o.Hidden)
	}
	l.runner.Close()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "adze-box-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Every kind of cover at once, in an order in which a later one would undo an earlier one.
func TestCoversTogether(t *testing.T) { eachLimited(t, testCoversTogether) }

func testCoversTogether(t *testing.T, l *limited) {
	at := func(name string) string { return filepath.Join(l.dir, name) }
	for _, name := range []string{"own/key", "own/notes", "own/open/a", "own/open/key", "private/a", "config"} {
		os.MkdirAll(filepath.Dir(at(name)), 0o700)
		if err := os.WriteFile(at(name), []byte("CANARY "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := *l.spec
	spec.Covers = []sandbox.Cover{
		{Path: at("own/open"), As: sandbox.Shown}, {Path: at("own/notes"), As: sandbox.Shown}, {Path: at("private/a"), As: sandbox.Shown},
		{Path: at("own"), As: sandbox.Closed}, {Path: at("config"), As: sandbox.Replaced, Text: "clean\n"},
		{Path: at(".env"), As: sandbox.Replaced, Text: "CANARY replaced\n"}, {Path: at("private"), As: sandbox.Closed},
		{Path: at(".env"), As: sandbox.Empty}, {Path: at("own/open/key"), As: sandbox.Empty}, {Path: at("sub/key.pem"), As: sandbox.Empty},
		{Path: at(".env"), As: sandbox.Unreadable}, {Path: at("private"), As: sandbox.Unreadable},
	}
	for line, want := range map[string]string{
		"cat config": "clean\n", "ls own": "notes\nopen\n", "cat own/notes own/open/a": "CANARY own/notes\nCANARY own/open/a\n",
		"cat own/key": "", "cat own/open/key sub/key.pem && echo empty": "empty\n", "cat .env && echo opened": "", "cat private/a && echo opened": "",
	} {
		if o := l.run(t, "{ "+line+"; } 2>/dev/null", &spec); o.Output.String() != want {
			t.Errorf("%s: %q, want %q", line, o.Output.String(), want)
		}
	}
	spec.Observe = true
	if l.spec.Bubblewrap || l.runner.CanObserve() != nil {
		return
	}
	for line, want := range map[string]string{"cat config own/key own/open/key sub/key.pem .env private/a": "", "cat own/notes": "CANARY own/notes\n"} {
		if o := l.run(t, "{ "+line+"; } 2>/dev/null", &spec); o.Output.String() != want {
			t.Errorf("observed: %s: %q, want %q", line, o.Output.String(), want)
		}
	}
}

// Files that share a cover are hidden too, and the outcome says that there are more.
func TestManyHiddenFiles(t *testing.T) { eachLimited(t, testManyHiddenFiles) }

func testManyHiddenFiles(t *testing.T, l *limited) {
	spec := *l.spec
	for i := range 200 {
		path := filepath.Join(l.dir, fmt.Sprintf("secret%d.pem", i))
		if err := os.WriteFile(path, []byte("CANARY\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		spec.Covers = append(slices.Clip(spec.Covers), sandbox.Empty.Cover(path)...)
	}
	o := l.run(t, "cat *.pem a.txt; ls *.pem | wc -l", &spec)
	if o.Output.String() != "plain\n200\n" || !o.MoreHidden || len(o.Hidden) < 50 {
		t.Errorf("%q, hidden: %d, more: %v", o.Output.String(), len(o.Hidden), o.MoreHidden)
	}
}
