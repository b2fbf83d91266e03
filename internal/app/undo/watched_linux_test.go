package undo_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

// writer is a program that changes files and keeps running: each line that it reads is done before it answers.
//
//	map FILE           maps a file
//	poke OFFSET TEXT   writes through memory
//	open FILE          opens a file
//	write TEXT         writes to it
type writer struct {
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
}

func TestWriter(t *testing.T) {
	if os.Getenv("ADZE_UNDO_WRITER") == "" {
		t.Skip("for other tests")
	}
	var memory []byte
	var file *os.File
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		var err error
		switch verb {
		case "map":
			var f *os.File
			if f, err = os.OpenFile(rest, os.O_RDWR, 0); err == nil {
				memory, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
				f.Close()
			}
		case "poke":
			at, text, _ := strings.Cut(rest, " ")
			n, _ := strconv.Atoi(at)
			copy(memory[n:], text)
		case "open":
			file, err = os.OpenFile(rest, os.O_RDWR, 0)
		case "write":
			_, err = file.WriteString(rest)
		}
		fmt.Println("done", err)
	}
}

func startWriter(t *testing.T) *writer {
	t.Helper()
	w := &writer{cmd: exec.Command(os.Args[0], "-test.run=^TestWriter$")}
	w.cmd.Env = append(os.Environ(), "ADZE_UNDO_WRITER=1")
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.in, w.out = in, bufio.NewScanner(out)
	t.Cleanup(w.end)
	return w
}

func (w *writer) do(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(w.in, line); err != nil {
		t.Fatal(err)
	}
	if !w.out.Scan() || w.out.Text() != "done <nil>" {
		t.Fatalf("%s: %s", line, w.out.Text())
	}
}

func (w *writer) end() {
	w.in.Close()
	for w.out.Scan() {
	}
	_ = w.cmd.Wait() // it may have ended
}

// hubs are ways to learn of changes.
var hubs = map[string]func() *watch.Hub{
	"watches":     func() *watch.Hub { return &watch.Hub{} },
	"times":       func() *watch.Hub { return nil },
	"few watches": func() *watch.Hub { return &watch.Hub{Most: 3} },
}

// eachHub runs a test with every way to learn of changes, after two calls: the first saves the workspace, and then watches.
func eachHub(t *testing.T, test func(t *testing.T, p *place)) {
	for name, hub := range hubs {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.watch = hub()
			p.open(undo.Limits{FileBytes: 64 << 20, Bytes: 512 << 20, Files: 100_000})
			p.write("a/b/file", strings.Repeat("x", 4096))
			p.write("a/other", "1")
			p.write("c/d/e", "1")
			p.write(".gitignore", "ignored/\n")
			p.call(func() {})
			if found := p.call(func() {}); len(found.Changes)+len(found.Lost) > 0 {
				t.Fatalf("%+v", found)
			}
			test(t, p)
		})
	}
}

// finds runs a call, and checks that it changed these paths and that they can be undone.
func (p *place) finds(f func(), want string) {
	p.t.Helper()
	was := p.tree()
	found := p.call(f)
	if got := p.paths(found.Changes); got != want || len(found.Lost) > 0 {
		p.t.Fatalf("changes: %s, lost: %v; want %s", got, found.Lost, want)
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		p.t.Errorf("left: %v", left)
	}
	p.same(was, "undone")
	if found := p.call(func() {}); len(found.Changes) > 0 {
		p.t.Errorf("after the undo: %s", p.paths(found.Changes))
	}
}

// inPlace overwrites a part of a file.
func (p *place) inPlace(name, text string) {
	p.t.Helper()
	f, err := os.OpenFile(p.path(name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 10)
		f.Close()
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestWriteInPlace(t *testing.T) {
	eachHub(t, func(_ *testing.T, p *place) {
		p.finds(func() { p.inPlace("a/b/file", "in place") }, "a/b/file")
	})
}

func TestTimeSetBack(t *testing.T) {
	eachHub(t, func(t *testing.T, p *place) {
		p.finds(func() {
			info, err := os.Stat(p.path("a/b/file"))
			if err != nil {
				t.Fatal(err)
			}
			p.inPlace("a/b/file", "in place")
			if err := os.Chtimes(p.path("a/b/file"), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "a/b/file")
	})
}

func TestWriteThroughMemory(t *testing.T) {
	eachHub(t, func(t *testing.T, p *place) {
		p.finds(func() {
			w := startWriter(t)
			w.do(t, "map "+p.path("a/b/file"))
			w.do(t, "poke 5 through memory")
			w.end()
		}, "a/b/file")
	})
}

// A program that still runs writes again and again, also to memory that it has written before, which changes no time. When it
// has ended, there is nothing more.
func TestWriterThatRuns(t *testing.T) {
	eachHub(t, func(t *testing.T, p *place) {
		w := startWriter(t)
		p.call(func() {
			w.do(t, "map "+p.path("a/b/file"))
			w.do(t, "open "+p.path("a/other"))
		})
		for i := range 3 {
			found := p.call(func() {
				w.do(t, fmt.Sprint("poke 5 memory ", i))
				w.do(t, fmt.Sprint("write ", i))
			})
			if got := p.paths(found.Changes); got != "a/b/file a/other" {
				t.Errorf("%d: changes: %s", i, got)
			}
		}
		if found := p.call(func() { w.do(t, "poke 5 last"); w.end() }); p.paths(found.Changes) != "a/b/file" {
			t.Errorf("changes: %s", p.paths(found.Changes))
		}
		if found := p.call(func() {}); len(found.Changes) > 0 {
			t.Errorf("changes: %s", p.paths(found.Changes))
		}
	})
}

func TestOverflow(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	n, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil || n > 100_000 {
		t.Skip("the queue has no useful limit:", n, err, err2)
	}
	eachHub(t, func(_ *testing.T, p *place) {
		p.finds(func() {
			for range n/4 + 1 { // four events each
				p.rename("c/d", "c/x")
				p.rename("c/x", "c/d")
			}
			p.inPlace("a/b/file", "in place")
			p.write("new/dir/f", "1")
		}, "a/b/file new new/dir new/dir/f")
		p.finds(func() { p.write("c/d/e", "2") }, "c/d/e")
	})
}

func TestRenamedDirectory(t *testing.T) {
	eachHub(t, func(_ *testing.T, p *place) {
		p.finds(func() { p.rename("a", "z") }, "a a/b a/b/file a/other z z/b z/b/file z/other")
		p.finds(func() { p.rename("a", "c/z"); p.write("c/z/b/new", "1"); p.write("a/b/other", "2") },
			"a/b/file a/b/other a/other c/z c/z/b c/z/b/file c/z/b/new c/z/other")
		outside := filepath.Join(p.t.TempDir(), "outside")
		p.finds(func() {
			if err := os.Rename(p.path("a"), outside); err != nil {
				p.t.Fatal(err)
			}
		}, "a a/b a/b/file a/other")
		p.finds(func() { p.rename("c", "q"); p.write("c/d/e", "other") }, "c/d/e q q/d q/d/e")
	})
}

// Directories that appear are watched, unless they are ignored; those that are replaced too.
func TestNewDirectories(t *testing.T) {
	eachHub(t, func(t *testing.T, p *place) {
		found := p.call(func() {
			p.write("n/o/p", "1")
			p.write("ignored/x", "1")
			p.write("m/.gitignore", "skip/\n")
			p.write("m/skip/x", "1")
		})
		if got := p.paths(found.Changes); got != "m m/.gitignore n n/o n/o/p" || len(found.Lost) != 2 {
			t.Errorf("changes: %s, lost: %v", got, found.Lost)
		}
		p.finds(func() { p.inPlace("n/o/p", "2") }, "n/o/p")
		if found := p.call(func() { p.write("ignored/x", "2"); p.write("m/skip/y", "2") }); len(found.Changes) > 0 || len(found.Lost) != 1 {
			t.Errorf("changes: %s, lost: %v", p.paths(found.Changes), found.Lost)
		}
		p.finds(func() { p.remove("n"); p.write("n/o/p", "other"); p.write("n/q/r", "1") }, "n/o/p n/q n/q/r")
		p.finds(func() { p.remove("n/o"); p.write("n/o", "a file") }, "n/o n/o/p")
		p.finds(func() {
			if err := os.Chmod(p.path("n/o"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "n/o")
	})
}

// A write to a file by its name outside the workspace, or by a new name inside.
func TestWriteByAnotherName(t *testing.T) {
	for name, hub := range hubs {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.watch = hub()
			p.open(undo.Limits{FileBytes: 64 << 20, Bytes: 512 << 20, Files: 100_000})
			p.write("a/other", "1")
			p.write("a/inside", "1")
			outside := filepath.Join(t.TempDir(), "outside")
			if err := os.Link(p.path("a/other"), outside); err != nil {
				t.Skip(err)
			}
			p.call(func() {})
			for range 3 { // until its time isn't new
				p.call(func() {})
			}
			found := p.call(func() {
				if err := os.WriteFile(outside, []byte("2"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Link(p.path("a/inside"), p.path("new")); err != nil {
					t.Fatal(err)
				}
				p.write("new", "2")
			})
			if got := p.paths(found.Changes); got != "a/inside a/other new" {
				t.Errorf("changes: %s", got)
			}
		})
	}
}

// A scan without changes doesn't look at every file.
func TestNothingIsScanned(t *testing.T) {
	p := newPlace(t)
	for i := range 300 {
		p.write(fmt.Sprintf("d%d/f%d", i%10, i), "1")
	}
	p.call(func() {})
	p.call(func() {})
	waittest.Until(t, "no path is compared", func() bool { // not at once: files that are new are compared again
		return undo.Compared(p.tracker, func() { p.call(func() {}) }) == 0
	})
}

// Why a workspace isn't watched is reported.
func TestUnwatched(t *testing.T) {
	p := newPlace(t)
	p.write("a/b/c", "1")
	p.write("d/e", "1")
	for limit, want := range map[int]string{0: "", 3: "more directories than"} {
		p.watch = &watch.Hub{Most: limit}
		p.open(undo.Limits{Files: 100})
		if why, err := p.tracker.Unwatched(t.Context()); !strings.Contains(why, want) || (why == "") != (want == "") || err != nil {
			t.Error(limit, why, err)
		}
	}
}

// A directory that the user may not read doesn't end the watches, and is watched when they may. As root, a child is the user.
func TestUnreadableDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		dir := t.TempDir()
		for _, d := range []string{filepath.Dir(dir), dir} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		child := exec.Command("/proc/self/exe", "-test.run=^TestUnreadableDirectory$")
		child.Env = append(os.Environ(), "TMPDIR="+dir)
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	eachHub(t, func(t *testing.T, p *place) {
		chmod := func(mode os.FileMode) {
			if err := os.Chmod(p.path("shut"), mode); err != nil {
				t.Fatal(err)
			}
		}
		p.call(func() { p.write("shut/x/y", "1"); chmod(0) })
		t.Cleanup(func() { chmod(0o700) })
		p.call(func() {})
		if p.watch != nil && p.watch.Most == 0 {
			waittest.Until(t, "few paths are compared", func() bool { return undo.Compared(p.tracker, func() { p.call(func() {}) }) < 5 })
		}
		if found := p.call(func() { p.inPlace("a/b/file", "in place") }); p.paths(found.Changes) != "a/b/file" {
			t.Errorf("changes: %s", p.paths(found.Changes))
		}
		p.call(func() { chmod(0o755) })
		p.finds(func() { p.write("shut/x/y", "2") }, "shut/x/y")
	})
}
