package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

var helper proc.Helper

func TestMain(m *testing.M) {
	helper = proc.Main()
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	if len(os.Args) > 2 && (os.Args[1] == "set" || os.Args[1] == "remove") {
		os.Exit(attributeTool(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "deep" {
		os.Exit(deepTool())
	}
	if len(os.Args) > 2 && os.Args[1] == "use" {
		os.Exit(useTool(os.Args[2]))
	}
	os.Exit(plainadze.Run(func(path string) { helper = proc.HelperAt(path) }, func() int { return leaktest.Run(m) }))
}

// bench is a workspace with a runner.
type bench struct {
	t      testing.TB
	root   string
	layers *Layers
	runner *proc.Runner
}

func opened(t testing.TB, o Options) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(base) }) // there may be directories without any rights
	b := &bench{t: t, root: filepath.Join(base, "ws")}
	if err := os.MkdirAll(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	o.State, o.Roots = filepath.Join(base, "state"), []string{b.root}
	b.openIn(o)
	return b
}

func (b *bench) openIn(o Options) {
	t := b.t
	t.Helper()
	var err error
	o.Without |= without()
	if b.layers, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if ok, why := b.layers.Supported(); !ok {
		t.Skip("no trials here: " + why)
	}
	b.runner = proc.Open(proc.Options{Helper: helper})
	t.Cleanup(func() {
		if err := b.runner.Close(); err != nil {
			t.Error(err)
		}
		if err := b.layers.Close(); err != nil {
			t.Error(err)
		}
	})
}

// without returns the layers that the tests do without. TestByBubblewrap has them do
// without their own namespaces.
func without() sandbox.Layers {
	if os.Getenv("TRIAL_LAUNCHED") != "" {
		return sandbox.Namespaces
	}
	return 0
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	text, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

// try runs a command in a trial.
func (b *bench) try(line string) (*Trial, proc.Outcome, Effects) {
	b.t.Helper()
	return b.tryIn(line, nil)
}

// testProgram returns a copy of the test binary that every user can execute.
func testProgram(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (b *bench) tryIn(line string, env []string) (*Trial, proc.Outcome, Effects) {
	b.t.Helper()
	return b.tryWith(proc.Command{Line: line, Env: env}, nil)
}

// tryWith runs a command in a trial with limits on what it reads.
func (b *bench) tryWith(c proc.Command, limits *sandbox.Limits, covers ...sandbox.Cover) (*Trial, proc.Outcome, Effects) {
	b.t.Helper()
	t, err := b.layers.New(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	c.Dir, c.Sandbox = b.root, t.Spec(limits, covers...)
	out, err := b.runner.Run(context.Background(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := t.Effects(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { t.Drop() })
	return t, out, e
}

// The changes of a trial are kept as a whole, and their old states are known.
func TestTryKeepDrop(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	b.write("a.txt", "old\n")
	b.write("dir/b.txt", "b\n")
	b.write("gone.txt", "gone\n")
	tr, out, e := b.try("echo new > a.txt; mkdir -p new/deep; echo x > new/deep/f; rm gone.txt; chmod 600 dir/b.txt; cat a.txt; exit 3")
	if out.Exit != 3 || out.Output.Head != "new\n" || out.Boxed != sandbox.Trial {
		t.Fatalf("%+v", out)
	}
	if got := b.list(e); got != "changed a.txt; attributes changed dir/b.txt (mode 0644 → 0600); deleted gone.txt; created new/ 1 file" {
		t.Errorf("effects: %s", got)
	}
	before, err := tr.Before(filepath.Join(b.root, "a.txt"))
	after, err2 := tr.After(filepath.Join(b.root, "a.txt"))
	if err != nil || err2 != nil || string(before) != "old\n" || string(after) != "new\n" {
		t.Errorf("before %q %v, after %q %v", before, err, after, err2)
	}
	if b.read("a.txt") != "old\n" || b.read("gone.txt") != "gone\n" {
		t.Fatal("the trial changed the workspace")
	}
	kept, err := tr.Keep(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.txt": "old\n", "gone.txt": "gone\n"} {
		if got, err := os.ReadFile(kept.Before(filepath.Join(b.root, name))); err != nil || string(got) != want {
			t.Errorf("%s before: %q %v", name, got, err)
		}
	}
	if kept.Before(filepath.Join(b.root, "new")) != "" || len(kept.Changes) != 4 {
		t.Errorf("%+v", kept)
	}
	if b.read("a.txt") != "new\n" || b.read("new/deep/f") != "x\n" {
		t.Error("not kept")
	}
	if _, err := os.Lstat(filepath.Join(b.root, "gone.txt")); err == nil {
		t.Error("not deleted")
	}
	if _, err := tr.Keep(context.Background(), nil); err == nil {
		t.Error("kept twice")
	}
	if err := tr.Drop(); err != nil {
		t.Error(err)
	}
	if _, err := tr.Effects(context.Background()); err == nil {
		t.Error("a dropped trial has effects")
	}
}

// list returns the changes in short.
func (b *bench) list(e Effects) string {
	var out []string
	for _, c := range e.Changes {
		name, _ := filepath.Rel(b.root, c.Path)
		text := c.Kind.String() + " " + name
		if c.IsDir() {
			text += fmt.Sprintf("/ %d file", c.Files)
		}
		if c.Attributes != "" {
			text += " (" + c.Attributes + ")"
		}
		out = append(out, text)
	}
	for _, s := range e.Special {
		name, _ := filepath.Rel(b.root, s.Path)
		out = append(out, "! "+name+": "+s.What)
	}
	return strings.Join(out, "; ")
}
