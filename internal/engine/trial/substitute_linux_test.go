package trial

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
)

// A command sees another text in place of a file, and can change it and its directory. The text is never kept over the file:
// its changes are merged.
func TestSubstitutes(t *testing.T) {
	t.Parallel()
	const real, clean = "a = SECRET\nb = 1\n", "a = mask\nb = 1\n"
	merge := func(changed []byte) ([]byte, error) {
		if bytes.Contains(changed, []byte("elsewhere mask")) {
			return nil, errors.New("a mask would be kept")
		}
		return bytes.ReplaceAll(changed, []byte("mask"), []byte("SECRET")), nil
	}
	for _, c := range []struct{ name, line, output, effects, config, failure string }{
		{name: "read", line: "cat repo/.git/config; rev repo/.git/config", output: clean + "ksam = a\n1 = b\n", config: real},
		{name: "nothing changes", line: "cp repo/.git/config x; mv x repo/.git/config; touch -r f repo/.git/x; rm repo/.git/x", config: real, effects: "time"},
		{name: "replaced", line: "{ cat repo/.git/config; echo c = 2; } > repo/.git/lock && mv repo/.git/lock repo/.git/config", config: real + "c = 2\n", effects: "changed repo/.git/config"},
		{name: "written", line: "echo c = 2 >> repo/.git/config", config: real + "c = 2\n", effects: "changed repo/.git/config"},
		{name: "deleted", line: "rm repo/.git/config", config: "error", effects: "deleted repo/.git/config"},
		{name: "by another name", line: "ln repo/.git/config y && echo c = 2 >> y", config: real + "c = 2\n", effects: "changed repo/.git/config; created y"},
		{name: "the mode", line: "chmod 600 repo/.git/config", config: real, effects: "attributes changed repo/.git/config (mode 0644 → 0600)"},
		{name: "others", line: "echo g > repo/g; echo h > repo/.git/h", config: real, effects: "created repo/.git/h; created repo/g"},
		{name: "not mergeable", line: "echo elsewhere mask >> repo/.git/config", config: real, failure: "a mask would be kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := opened(t, Options{})
			b.write("repo/.git/config", real)
			b.write("f", "f\n")
			path := filepath.Join(b.root, "repo/.git/config")
			tr, out, e, err := b.trySubstituted(c.line, Substitute{path, []byte(real), []byte(clean), merge})
			if c.failure != "" {
				if err == nil || !strings.Contains(err.Error(), c.failure) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || out.Exit != 0 || c.output != "" && out.Output.Head != c.output {
				t.Fatalf("%v: %d %s", err, out.Exit, out.Output.Head)
			}
			if got := b.list(e); c.effects != "time" && !strings.HasPrefix(got, c.effects) || c.effects == "" && got != "" {
				t.Errorf("effects: %s", got)
			}
			if b.read("repo/.git/config") != real {
				t.Error("changed before it was kept")
			}
			if _, err := tr.Keep(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if got := b.read("repo/.git/config"); got != c.config && (c.config != "error" || !strings.HasPrefix(got, "error")) {
				t.Errorf("kept %q, want %q", got, c.config)
			}
			if y := b.read("y"); strings.Contains(y, "SECRET") {
				t.Errorf("the other name has the secret: %q", y)
			}
		})
	}
}

// A repository that is moved or copied keeps its configuration. A copy elsewhere is what the command saw.
func TestSubstitutesMoved(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	b.write("repo/.git/config", "a = SECRET\n")
	b.write("repo/f", "f\n")
	merge := func(changed []byte) ([]byte, error) {
		return bytes.ReplaceAll(changed, []byte("mask"), []byte("SECRET")), nil
	}
	sub := Substitute{filepath.Join(b.root, "repo/.git/config"), []byte("a = SECRET\n"), []byte("a = mask\n"), merge}
	tr, out, _, err := b.trySubstituted("cp -r repo copy && cp repo/.git/config plain && mv repo moved", sub)
	if err != nil || out.Exit != 0 {
		t.Fatal(err, out.Output.Head)
	}
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"moved/.git/config": "a = SECRET\n", "copy/.git/config": "a = SECRET\n", "plain": "a = mask\n", "moved/f": "f\n"} {
		if got := b.read(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// trySubstituted runs a command that sees another text in place of a file.
func (b *bench) trySubstituted(line string, s Substitute) (*Trial, proc.Outcome, Effects, error) {
	b.t.Helper()
	t, err := b.layers.New(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { t.Drop() })
	others, err := t.Substitute([]Substitute{s, {Path: filepath.Join(b.root, "missing/.git/config")}, {Path: os.DevNull}})
	if err != nil || len(others) != 1 {
		b.t.Fatal(others, err)
	}
	out, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: b.root, Sandbox: t.Spec(nil)})
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := t.Effects(context.Background())
	return t, out, e, err
}
