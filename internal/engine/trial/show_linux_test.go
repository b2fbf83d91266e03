package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// inTemp returns a world that is all below a temp directory: the workspace, the state
// directory, a cache, another temp directory, a program and files of others.
func inTemp(t *testing.T) (b *bench, base string, run func(line string) (*Trial, proc.Outcome)) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ws/src", "cache", "tmp", "tools/bin", "others"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"ws/a": "a\n", "ws/.env": "KEY=canary\n", "cache/warm": "warm\n", "config": "mine\n", "others/notes": "canary\n", "tmp/theirs": "canary\n",
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "tools/bin/hello"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	b = &bench{t: t, root: at("ws")}
	b.openIn(Options{State: at("state"), Roots: []string{b.root}, Temp: []string{base, at("tmp")}, Caches: []string{at("cache")}})
	limits := &sandbox.Limits{
		Read: []string{b.root, at("config"), "/proc", at("gone")}, Execute: []string{at("tools"), "/usr", "/bin", "/lib", "/lib64", "/etc", "/nix", "/gnu"},
	}
	return b, base, func(line string) (*Trial, proc.Outcome) {
		t.Helper()
		tr, err := b.layers.New(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.runner.Run(t.Context(), proc.Command{Line: line, Dir: b.root, Env: append(os.Environ(), "TMPDIR="+at("tmp")), Sandbox: tr.Spec(limits, sandbox.Empty.Cover(at("ws/.env"))...)})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return tr, out
	}
}

// A workspace below /tmp used to be hidden by the empty temp directory of a trial:
// "create the sandbox: hide files: no such file or directory".
func TestBelowTemp(t *testing.T) {
	t.Parallel()
	_, base, run := inTemp(t)
	for _, tt := range []struct{ line, want string }{
		{"cat a", "a"},
		{"cat .env; echo empty", "empty"},
		{"cat $B/cache/warm", "warm"},
		{"cat $B/config", "mine"},
		{"$B/tools/bin/hello", "hello"},
		{"cat $B/others/notes || echo missing", "missing"},
		{"cat $TMPDIR/theirs || echo missing", "missing"},
		{"echo x > $B/config || echo read-only", "read-only"},
		{"echo t > $TMPDIR/t && echo u > $B/u && cat $TMPDIR/t", "t"},
		{"cat $TMPDIR/t $B/u", "t\nu"},
		{"echo new > $B/cache/new; cat $B/cache/warm", "warm"},
		{"ls $B/state || echo hidden", "hidden"},
	} {
		tr, out := run(strings.ReplaceAll("exec 2>/dev/null; "+tt.line, "$B", base))
		if got := strings.TrimSpace(out.Output.String()); got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.line, got, tt.want)
		}
		e, err := tr.Effects(t.Context())
		if err != nil || !e.None() {
			t.Errorf("%s: %v %v", tt.line, e.Changes, err)
		}
		if strings.Contains(tt.line, "> $TMPDIR/t") {
			if got := strings.Join(e.NotKept, " "); got != base+"/u "+base+"/tmp/t" {
				t.Errorf("not kept: %q", got)
			}
		} else if len(e.NotKept) > 0 {
			t.Errorf("%s: not kept: %q", tt.line, e.NotKept)
		}
		if err := tr.Drop(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"config": "mine\n", "cache/warm": "warm\n"} {
		if text, err := os.ReadFile(filepath.Join(base, name)); string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"u", "tmp/t", "cache/new"} {
		if exists(filepath.Join(base, name)) {
			t.Errorf("%s exists", name)
		}
	}
}

// Commands can move the directories above a mount point and plant links in their
// place, which the next trial must not follow outside.
func TestPlantedInTemp(t *testing.T) {
	t.Parallel()
	_, base, run := inTemp(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"mv $B/tools $B/moved; ln -s $O $B/tools; rm -f $B/config; ln -s $O/config $B/config; mkdir -p $B/deep",
		"cat $B/config; $B/tools/bin/hello",
	} {
		tr, out := run(strings.NewReplacer("$B", base, "$O", outside).Replace("exec 2>/dev/null; " + line))
		if strings.HasPrefix(line, "cat") && strings.TrimSpace(out.Output.String()) != "mine\nhello" {
			t.Errorf("after planting: %q", out.Output.String())
		}
		if err := tr.Drop(); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) > 0 {
		t.Errorf("something was made outside: %v %v", entries, err)
	}
}
