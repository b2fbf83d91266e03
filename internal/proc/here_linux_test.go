package proc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// A person's command has the streams of this program. It is not run in
// parallel: the streams are exchanged.
func TestHere(t *testing.T) {
	needsLayers(t)
	dir := t.TempDir()
	outside := t.TempDir() + "/outside"
	line := "cat; touch inside " + outside + " 2>/dev/null; echo $? $TMPDIR; ls .adze .git; kill -TERM $$"
	for _, c := range []struct {
		mode    sandbox.Mode
		without sandbox.Layers
		want    string
		made    bool
		numbers bool // of its own: the signal is seen by the first process there
	}{
		{sandbox.Off, 0, "typed\n0", true, false},
		{sandbox.ReadOnly, 0, "typed\n1 /", false, true},
		{sandbox.Workspace, 0, "typed\n1", true, true},
		{sandbox.Workspace, sandbox.PIDs, "typed\n1", true, false},
		{sandbox.Workspace, sandbox.Namespaces, "typed\n1", true, false},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
			os.WriteFile(in, []byte("typed\n"), 0o600)
			os.Remove(outside)
			os.Remove(dir + "/inside")
			var notes []string
			o, err := withStreams(t, in, out, func() (Outcome, error) {
				spec := &sandbox.Spec{Mode: c.mode, Roots: []string{dir}, Without: c.without, Protect: sandbox.Protected([]string{dir}, nil)}
				return Here(context.Background(), helper, Command{Line: line, Dir: dir, Sandbox: spec}, func(n string) { notes = append(notes, n) })
			})
			text, _ := os.ReadFile(out)
			if err != nil || !strings.HasPrefix(string(text), c.want) || (o.Signal == 15) == c.numbers || (o.Exit == 128+15) != c.numbers || o.Boxed != c.mode {
				t.Errorf("%v %+v %q", err, o, text)
			}
			if _, err := os.Stat(dir + "/inside"); (err == nil) != c.made {
				t.Errorf("inside: %v", err)
			}
			if (len(notes) > 0) != c.without.Has(sandbox.Namespaces) {
				t.Errorf("notes %q", notes)
			}
			if left, _ := os.ReadDir(dir); len(left) > 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if _, err := Here(context.Background(), Helper{}, Command{Line: "true", Sandbox: &sandbox.Spec{Mode: sandbox.ReadOnly}}, nil); err == nil || !strings.Contains(err.Error(), "adze.Main") {
		t.Error("without a helper:", err)
	}
}

func withStreams(t *testing.T, in, out string, do func() (Outcome, error)) (Outcome, error) {
	t.Helper()
	r, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stdin, stdout, stderr := os.Stdin, os.Stdout, os.Stderr
	defer func() { os.Stdin, os.Stdout, os.Stderr = stdin, stdout, stderr }()
	os.Stdin, os.Stdout, os.Stderr = r, w, w
	return do()
}
