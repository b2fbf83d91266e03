package trial

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Where a trial works, and what it says where it doesn't. The mounts are those of
// a second process.
func TestPlaces(t *testing.T) {
	t.Parallel()
	if without() != 0 {
		t.Skip("bubblewrap doesn't start with the capabilities of that process")
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestPlacesInside$", "-test.v")
	c.Env = append(os.Environ(), "TRIAL_PLACES="+t.TempDir())
	c.SysProcAttr = sandbox.Apart{PIDs: true, Trial: true}.Attr()
	text, err := c.CombinedOutput()
	if strings.Contains(string(text), "--- SKIP") || err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skipf("can't be run here: %v %s", err, text)
	}
	if err != nil || !strings.Contains(string(text), "--- PASS: TestPlacesInside") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestPlacesInside is that process.
func TestPlacesInside(t *testing.T) {
	dir := os.Getenv("TRIAL_PLACES")
	if dir == "" {
		t.Skip("is started by TestPlaces")
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, ""))
	}
	if err != nil {
		t.Skip(err)
	}
	p := mounts{t: t, dir: dir, state: filepath.Join(dir, "state"), runner: proc.Open(proc.Options{Helper: helper})}
	t.Cleanup(func() { p.runner.Close() })
	here := p.mkdir("here")
	if why := p.try(here); why != "" {
		t.Skip(why)
	}
	// On another mount the workspace has its own state.
	memory := p.mount("memory", "tmpfs", "size=4m")
	switch why := p.try(memory); {
	case why == "":
		if _, err := os.Lstat(filepath.Join(memory, ".adze")); err == nil {
			t.Error("the state is left in the workspace")
		}
		p.full(memory)
	case !strings.Contains(why, "no user attributes"): // before Linux 6.6
		t.Errorf("tmpfs: %s", why)
	}
	// A bind mount of the same file system is another mount.
	bound := p.mkdir("bound")
	if err := unix.Mount(p.mkdir("bound-source"), bound, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if why := p.try(bound); why != "" {
		t.Errorf("bind mount: %s", why)
	}
	p.refuses("mount point", p.with(here, "inside"), "inside is a mount point in the workspace")
	p.refuses("overlay", p.overlay(), "is on overlayfs itself")
	p.changes(p.mkdir("changes"))
}

// changes mounts and unmounts something in a workspace between trials: the list of mounts is kept, and must be true.
func (p *mounts) changes(root string) {
	p.t.Helper()
	l, err := Open(Options{State: p.state, Roots: []string{root}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	at := filepath.Join(root, "inside")
	if err := os.Mkdir(at, 0o755); err != nil {
		p.t.Fatal(err)
	}
	for range 3 {
		if ok, why := l.Supported(); !ok {
			p.t.Error("before:", why)
		}
		if err := unix.Mount("inside", at, "tmpfs", 0, ""); err != nil {
			p.t.Fatal(err)
		}
		for range 2 {
			if ok, why := l.Supported(); ok || !strings.Contains(why, "inside is a mount point") {
				p.t.Error("mounted:", ok, why)
			}
		}
		if err := unix.Unmount(at, 0); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Files of another user can't be copied to an upper.
func TestForeign(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may write what belongs to others; TestAsNobody runs this")
	}
	l, err := Open(Options{State: t.TempDir(), Roots: []string{"/usr"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ok, why := l.Supported(); ok || !strings.Contains(why, "/usr belongs to user 0 and group 0, not to yours") && !strings.Contains(why, "create a trial sandbox") {
		t.Error(ok, why)
	}
}

// mounts is a directory with mounts.
type mounts struct {
	t          *testing.T
	dir, state string
	runner     *proc.Runner
}

func (p *mounts) mkdir(name string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *mounts) mount(name, kind, options string) string {
	p.t.Helper()
	path := p.mkdir(name)
	if err := unix.Mount(name, path, kind, 0, options+",mode=755"); err != nil {
		p.t.Skip(err)
	}
	ws := filepath.Join(path, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		p.t.Fatal(err)
	}
	return ws
}

// with returns a directory with a mount point in it.
func (p *mounts) with(dir, name string) string {
	p.t.Helper()
	at := filepath.Join(dir, name)
	if err := os.Mkdir(at, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Mount("inside", at, "tmpfs", 0, ""); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
	return dir
}

// overlay returns a workspace on overlayfs.
func (p *mounts) overlay() string {
	p.t.Helper()
	at := p.mkdir("overlay")
	options := "lowerdir=" + p.mkdir("lower") + ",upperdir=" + p.mkdir("upper") + ",workdir=" + p.mkdir("work") + ",userxattr"
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		p.t.Skip(err)
	}
	return at
}

func (p *mounts) refuses(what, root, want string) {
	p.t.Helper()
	if why := p.try(root); !strings.Contains(why, want) {
		p.t.Errorf("%s: %q, want %q", what, why, want)
	}
	if _, err := os.Lstat(filepath.Join(root, ".adze")); err == nil {
		p.t.Errorf("%s: .adze is left in the workspace", what)
	}
}

// try runs a command in a trial and keeps it. It says why that is not possible.
func (p *mounts) try(root string) (why string) {
	p.t.Helper()
	l, err := Open(Options{State: p.state, Roots: []string{root}, Temp: []string{"/tmp"}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	if ok, why := l.Supported(); !ok {
		if _, err := l.New(context.Background()); !errors.Is(err, ErrUnsupported) {
			p.t.Errorf("%s: %v", root, err)
		}
		return why
	}
	b := &bench{t: p.t, root: root, layers: l, runner: p.runner}
	b.write("a", "old\n")
	tr, out, e := b.try("ls -A > list; find . > /dev/null && echo new > a")
	defer tr.Drop()
	if out.Exit != 0 || b.list(e) != "changed a; created list" {
		p.t.Errorf("%s: %+v %s", root, out, b.list(e))
	}
	if _, err := tr.Keep(context.Background(), nil); err != nil || b.read("a") != "new\n" {
		p.t.Errorf("%s: %v %s", root, err, b.read("a"))
	}
	return ""
}

// full fills the disk in a trial.
func (p *mounts) full(root string) {
	p.t.Helper()
	l, err := Open(Options{State: p.state, Roots: []string{root}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	b := &bench{t: p.t, root: root, layers: l, runner: p.runner}
	tr, out, e := b.try("head -c 100M /dev/zero > big; true")
	defer tr.Drop()
	if out.Limit != "the disk is full" || b.list(e) != "created big" {
		p.t.Errorf("%+v %s", out, b.list(e))
	}
}
