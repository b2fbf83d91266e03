package places

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// asideTest is a workspace whose repositories are moved aside.
type asideTest struct {
	t         *testing.T
	root, dir string
	base      *Base
}

func newAsideTest(t *testing.T, dir string) *asideTest {
	t.Helper()
	a := &asideTest{t: t, root: t.TempDir(), dir: dir}
	a.sh("mkdir -p own/.git/objects own/.git/refs bare/objects bare/refs half/objects half/refs; echo x > own/.git/HEAD; echo x > bare/HEAD; echo x > own/.git/config")
	a.base = NewBase([]string{a.root}, nil, nil, nil)
	a.base.Spec(sandbox.Workspace)
	a.base.Settle()
	return a
}

func (a *asideTest) sh(script string) {
	a.t.Helper()
	c := exec.CommandContext(a.t.Context(), "bash", "-ec", script)
	c.Dir = a.root
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := c.CombinedOutput(); err != nil {
		a.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// moved returns what a call moved.
func (a *asideTest) moved(approved ...string) (paths []string) {
	for i := range approved {
		approved[i] = filepath.Join(a.root, approved[i])
	}
	for _, note := range a.base.Aside(a.dir, approved...) {
		path, _, _ := strings.Cut(strings.TrimPrefix(note, "A command created "+a.root+"/"), ",")
		if !strings.Contains(note, " moved to "+a.dir) {
			path += " not archived"
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

const plant = "plant() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; echo x > $1/config; }; "

func TestAside(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo x > a; mkdir -p b/refs b/objects", ""},
		{plant + "plant new/.git", "new/.git"},
		{plant + "plant docs; echo x > docs/README", "docs/HEAD"},
		{plant + "plant deep/.git/modules/m; plant deep/.git", "deep/.git"},
		{plant + "plant node_modules/a/b/.git; plant .husky/_/.git; plant .git/modules/m; plant own/.git/modules/m", ".git/modules/m/HEAD .husky/_/.git node_modules/a/b/.git own/.git/modules/m/HEAD"},
		{"echo x > half/HEAD", "half/HEAD"},
		{"mkdir bare/hooks; echo x > bare/hooks/x; echo x > bare/config; mkdir bare/info; echo x > bare/info/attributes; echo x > bare/refs/x", "bare/config bare/hooks bare/info/attributes"},
		{"echo x > HEAD; echo /x > commondir", "HEAD"},
		{"mkdir l; ln -s ../own/.git l/.git", "l/.git"},
		{"mkdir l; echo 'gitdir: /tmp/x' > l/.git", "l/.git"},
		{"mkdir l; ln -s refs/heads/x l/HEAD; ln -s /tmp l/objects; ln -s /tmp l/refs", "l/HEAD"},
		// A .git file that leads to a repository that was there obeys its settings. With another name, it could change.
		{"mkdir l; echo 'gitdir: ../own/.git' > l/.git", ""},
		{"mkdir l; echo 'gitdir: ../own/.git' > l/f; ln l/f l/.git", "l/.git"},
		{"mkdir -p own/.git/worktrees/w w; cd own/.git/worktrees/w; echo ../.. > commondir; echo x > HEAD; echo 'gitdir: ../own/.git/worktrees/w' > ../../../../w/.git", ""},
		{"mkdir -p own/.git/worktrees/w; cd own/.git/worktrees/w; echo /tmp > commondir; echo x > HEAD", "own/.git/worktrees/w/HEAD"},
		{"mkdir -p own/.git/worktrees/w; cd own/.git/worktrees/w; echo ../.. > commondir; echo x > HEAD; echo x > config.worktree", "own/.git/worktrees/w/HEAD"},
		{"mkdir -p own/.git/worktrees/w; cd own/.git/worktrees/w; echo ../.. > f; ln f commondir; echo x > HEAD", "own/.git/worktrees/w/HEAD"},
		{plant + "plant ok/.git; plant ok/sub/.git; plant bad/.git", "bad/.git ok/sub/.git"},
	} {
		a := newAsideTest(t, t.TempDir())
		a.sh(c.script)
		if got := strings.Join(a.moved("ok/.git"), " "); got != c.want {
			t.Errorf("%s: moved %q, want %q", c.script, got, c.want)
		}
		if again := a.moved(); again != nil {
			t.Errorf("%s: moved again: %q", c.script, again)
		}
		a.sh("test -e own/.git/HEAD -a -e bare/HEAD")
	}
}

// What the user creates between two commands isn't moved; what another command may have created is.
func TestAsideSettled(t *testing.T) {
	a := newAsideTest(t, t.TempDir())
	a.sh(plant + "plant mine/.git")
	a.base.Spec(sandbox.Workspace)
	if got := a.moved(); !slices.Equal(got, []string{"mine/.git"}) {
		t.Error(got)
	}
	a.sh(plant + "plant mine/.git")
	a.base.Spec(sandbox.Workspace)
	a.base.Settle()
	if got := a.moved(); got != nil {
		t.Error(got)
	}
}

// An archive has all files, also on another file system. Pipes and sockets are omitted, and what is too big is only renamed.
func TestAsideArchive(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "adze-aside-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := newAsideTest(t, dir)
	a.sh(plant + "plant n/.git; mkfifo n/.git/p; ln -s /etc/passwd n/.git/l; chmod 400 n/.git/config; mkdir n/.git/ro; echo y > n/.git/ro/f; chmod 500 n/.git/ro")
	if got := a.moved(); !slices.Equal(got, []string{"n/.git"}) {
		t.Fatal(got)
	}
	files, _ := filepath.Glob(dir + "/*.tar")
	if len(files) != 1 {
		t.Fatal(files)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		got = append(got, h.Name+"="+h.Linkname+strings.TrimSpace(string(text)))
	}
	want := ".git= .git/HEAD=ref: refs/heads/main .git/config=x .git/l=/etc/passwd .git/objects= .git/refs= .git/ro= .git/ro/f=y"
	if strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	a.sh("test ! -e n/.git; " + plant + "plant big/.git; truncate -s 2G big/.git/objects/pack")
	if got := a.moved(); !slices.Equal(got, []string{"big/.git not archived"}) {
		t.Error(got)
	}
	a.sh("test ! -e big/.git; ls big/.git.aside-*/HEAD.aside; ! ls big/.git.aside-*/HEAD")
	if files, _ := filepath.Glob(dir + "/*"); len(files) != 1 {
		t.Error(files)
	}
}

// A directory that a running command replaced by a link isn't followed.
func TestAsideReplaced(t *testing.T) {
	a := newAsideTest(t, t.TempDir())
	a.sh(plant + "plant x/.git")
	found := a.base.tree.walkAll()
	found.restore()
	a.sh("mv x y; ln -s own x")
	if to, err := a.base.moveAside(filepath.Join(a.root, "x/.git"), a.dir); err == nil {
		t.Error("moved to", to)
	}
	a.sh("test -e own/.git/HEAD")
}

// Directories without permissions are searched too, and keep their modes. A child process without root tries it.
func TestAsideClosed(t *testing.T) {
	if os.Getenv("ADZE_TEST_CLOSED") == "" {
		dir, err := os.MkdirTemp("", "adze-closed-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsideClosed$", "-test.v")
		c.Env = append(os.Environ(), "ADZE_TEST_CLOSED=1", "TMPDIR="+dir)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			t.Skip("cannot give up root here:", err)
		}
	}
	a := newAsideTest(t, t.TempDir())
	a.sh(plant + "plant a/b/c/.git; plant r/.git; plant x/.git; chmod 0 a/b/c; chmod 0 a/b; chmod 500 r; chmod 400 x; chmod 0 half; ")
	defer a.sh("chmod -R u+rwx .")
	if got := strings.Join(a.moved(), " "); got != "a/b/c/.git r/.git x/.git" {
		t.Error(got)
	}
	a.sh("test $(stat -c %a a/b) = 0 -a $(stat -c %a r) = 500 -a $(stat -c %a x) = 400; chmod 700 a/b; test $(stat -c %a a/b/c) = 0")
}

// A bug: a sandboxed command that made a named pipe where git has the file commondir made Adze wait forever.
func TestPipeForCommondir(t *testing.T) {
	t.Parallel()
	common := filepath.Join(t.TempDir(), ".git")
	worktree := filepath.Join(common, "worktrees", "w")
	if err := os.MkdirAll(worktree, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(worktree, "commondir")
	r := &repositories{known: map[string]bool{common: true}}
	for content, want := range map[string]bool{"../..\n": true, "../../x\n": false, "../..\x00x": false, "": false} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := r.obeysKnown(worktree, nil); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r.obeysKnown(worktree, nil) {
		t.Error("a pipe counts as the file")
	}
}
