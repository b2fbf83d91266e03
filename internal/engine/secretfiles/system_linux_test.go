package secretfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

// More changes than the kernel queues lead to a new walk.
func TestOverflow(t *testing.T) {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(limit)))
	if err != nil || n > 100_000 {
		t.Skip("the queue has no useful limit:", n, err)
	}
	root := newRoot(t)
	writes("a/x b/.env")(t, root)
	f := newFinder(t, systems["watches"](), Options{Roots: []string{root}})
	check(t, f, root, "b/.env")
	x, y := filepath.Join(root, "a/x"), filepath.Join(root, "a/y")
	for range n/4 + 1 { // four events each
		must(t, os.Rename(x, y))
		must(t, os.Rename(y, x))
	}
	renames("b", "c")(t, root)
	before := f.tree
	check(t, f, root, "c/.env")
	if f.tree == before {
		t.Error("there was no new walk: nothing overflowed")
	}
}

// Changes are found by the watches: a List doesn't read the directories again.
func TestWatchesAreUsed(t *testing.T) {
	root := newRoot(t)
	writes("a/x b/.env")(t, root)
	var asked atomic.Int64
	f := newFinder(t, systems["watches"](), Options{Roots: []string{root}, Hide: func(path string, tracked func() bool) bool {
		asked.Add(1)
		return DefaultHide(path, tracked)
	}})
	check(t, f, root, "b/.env")
	writes("a/.env")(t, root)
	check(t, f, root, "a/.env", "b/.env")
	check(t, f, root, "a/.env", "b/.env")
	if asked.Load() != 3 {
		t.Errorf("Hide was asked %d times, want once for each file", asked.Load())
	}
}

// The user's other programs need watches, too: with more directories than that, there are none.
func TestMostWatches(t *testing.T) {
	root := newRoot(t)
	writes("a/.env b/x")(t, root)
	few := func() (watcher, error) { return (&watch.Hub{Most: 3}).Open(watch.Names) }
	f := newFinder(t, system{watch: few, compare: patience}, Options{Roots: []string{root}})
	check(t, f, root, "a/.env")
	if f.tree.watcher == nil {
		t.Error("there are no watches for three directories")
	}
	writes("c/.env")(t, root)
	check(t, f, root, "a/.env", "c/.env")
	if f.tree.watcher != nil {
		t.Error("there are watches for four directories")
	}
	writes("b/.env")(t, root)
	check(t, f, root, "a/.env", "b/.env", "c/.env")
}

// A pipe with a secret name isn't opened and isn't hidden.
func TestPipe(t *testing.T) {
	root := newRoot(t)
	must(t, syscall.Mkfifo(filepath.Join(root, ".env"), 0o644))
	must(t, os.Mkdir(filepath.Join(root, ".git"), 0o755))
	must(t, syscall.Mkfifo(filepath.Join(root, ".git/index"), 0o644))
	writes("id_rsa")(t, root)
	check(t, newFinder(t, systems["watches"](), Options{Roots: []string{root}}), root, "id_rsa")
}

// After Close no descriptor is open, and List says why it isn't ok.
func TestClose(t *testing.T) {
	root := newRoot(t)
	writes("a/b/.env c/x")(t, root)
	open := func() (fds []string) {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && (to == "anon_inode:inotify" || strings.HasPrefix(to, root)) {
				fds = append(fds, to)
			}
		}
		return fds
	}
	for kind, s := range systems {
		for _, started := range []bool{false, true} {
			f := New(Options{Roots: []string{root}})
			f.system = s()
			if started {
				f.List(patience)
				writes("a/new-"+kind)(t, root)
				f.Start()
			}
			f.Close()
			f.Close()
			f.Invalidate()
			if paths, ok := f.List(patience); ok || paths != nil || f.Problem() != "the search is closed" {
				t.Errorf("%s: List = %q, %v, %q", kind, paths, ok, f.Problem())
			}
			if fds := open(); len(fds) > 0 {
				t.Errorf("%s: open: %q", kind, fds)
			}
		}
	}
}

// Several goroutines ask while files change, rules change and directories vanish. At the end the list is right.
func TestConcurrent(t *testing.T) {
	for kind, s := range systems {
		t.Run(kind, func(t *testing.T) {
			root := newRoot(t)
			writes("a/b/c/.env d/x")(t, root)
			f := newFinder(t, s(), Options{Roots: []string{root}})
			var wg sync.WaitGroup
			for worker := range 3 {
				wg.Go(func() {
					for range 30 {
						f.List(patience)
						if worker == 0 {
							f.Invalidate()
						}
						f.Problem()
					}
				})
			}
			for range 60 {
				renames("a", "d/a")(t, root)
				writes("d/a/b/c/id_rsa")(t, root)
				removes("d/a/b/c/id_rsa")(t, root)
				renames("d/a", "a")(t, root)
			}
			wg.Wait()
			check(t, f, root, "a/b/c/.env")
		})
	}
}

// Files that the user may not read aren't hidden until they may. A child without root's rights asks.
func TestRights(t *testing.T) {
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "secretfiles-rights-")
		must(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		must(t, os.Chmod(dir, 0o777))
		program := filepath.Join(dir, "test")
		data, err := os.ReadFile("/proc/self/exe")
		must(t, err)
		must(t, os.WriteFile(program, data, 0o755))
		c := exec.Command(program, "-test.run=^TestRights$", "-test.v")
		c.Dir, c.Env = dir, []string{"TMPDIR=" + dir}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestRights") {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	for kind, s := range systems {
		t.Run(kind, func(t *testing.T) { rights(t, s()) })
	}
}

func rights(t *testing.T, s system) {
	root := newRoot(t)
	writes("closed/sub/.env open/.env open/id_rsa")(t, root)
	chmod := func(name string, mode os.FileMode) { must(t, os.Chmod(filepath.Join(root, name), mode)) }
	t.Cleanup(func() { chmod("closed", 0o755) })
	chmod("closed", 0)
	chmod("open/id_rsa", 0)
	f := newFinder(t, s, Options{Roots: []string{root}})
	check(t, f, root, "open/.env")
	chmod("open/id_rsa", 0o600)
	check(t, f, root, "open/.env", "open/id_rsa")
	chmod("closed", 0o755)
	check(t, f, root, "closed/sub/.env", "open/.env", "open/id_rsa")
	writes("closed/sub/x.pem")(t, root)
	check(t, f, root, "closed/sub/.env", "closed/sub/x.pem", "open/.env", "open/id_rsa")

	// A command could open a file by its name where it can't list the names.
	chmod("closed", 0o311)
	f.Invalidate()
	if paths, ok := f.List(patience); ok || !strings.HasSuffix(f.Problem(), "closed can be entered, but not listed") {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
	chmod("closed", 0o755)
	paths, ok := f.List(patience)
	if !ok || !slices.Contains(paths, filepath.Join(root, "closed/sub/.env")) {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
}
