package trial

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/leaktest"
	"github.com/adze-dev/adze/internal/proc"
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
	os.Exit(leaktest.Run(m))
}

// place is a workspace with a runner.
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

// testProgram is a copy of the test binary that every user can execute.
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
	t, err := b.layers.New(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: b.root, Env: env, Sandbox: t.Spec(nil)})
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

func TestTryKeepDrop(t *testing.T) {
	b := opened(t, Options{})
	b.write("a.txt", "old\n")
	b.write("dir/b.txt", "b\n")
	b.write("gone.txt", "gone\n")
	tr, out, e := b.try("echo new > a.txt; mkdir -p new/deep; echo x > new/deep/f; rm gone.txt; chmod 600 dir/b.txt; cat a.txt; exit 3")
	t.Logf("%+v\n%+v", out, e)
	if out.Exit != 3 || out.Output.Head != "new\n" {
		t.Fatalf("exit %d, output %q", out.Exit, out.Output.Head)
	}
	if b.read("a.txt") != "old\n" || b.read("gone.txt") != "gone\n" {
		t.Fatal("the trial changed the workspace")
	}
	k, err := tr.Keep(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", k)
	if b.read("a.txt") != "new\n" || b.read("new/deep/f") != "x\n" {
		t.Fatal("not kept")
	}
	if _, err := os.Lstat(filepath.Join(b.root, "gone.txt")); err == nil {
		t.Fatal("not deleted")
	}
}

func TestNetworkRenameLimits(t *testing.T) {
	b := opened(t, Options{Bytes: 64 << 20, Processes: 100})
	b.write("dir/sub/a.txt", "a\n")
	b.write("dir/b.txt", "b\n")
	for _, line := range []string{"git init -q . && mv dir moved && ls -R moved && ls dir", "getent hosts registry.adze.dev; true", "exec 3<>/dev/tcp/192.0.2.1/80", "exec 3<>/dev/tcp/127.0.0.1/81", "sleep 100 & sleep 0.01; echo done", "head -c 200M /dev/zero > big", "for i in 1 2 3 4; do head -c 40M /dev/zero > big$i; sleep 0.3; done", "for i in $(seq 200); do sleep 100 & done; wait", "getent hosts registry.adze.dev; sleep 100"} {
		_, out, e := b.try(line)
		t.Logf("%s\n%+v\n%+v", line, out, e)
	}
}
