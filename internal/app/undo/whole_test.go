package undo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/workspace/hardlink"
)

// nested makes a repository below the workspace, with a directory that it ignores and a file over the limit.
func (p *place) nested(name string) {
	p.t.Helper()
	p.write(name+"/.gitignore", "build/\nlogs/\n")
	p.write(name+"/.git/HEAD", "ref: refs/heads/main\n")
	p.write(name+"/.git/logs/HEAD", "log\n") // the ignore file isn't about git's own files
	p.write(name+"/.git/objects/ab/cdef", name)
	p.write(name+"/.git/objects/pack/x.pack", strings.Repeat(name, 1<<20))
	p.write(name+"/src/main.go", "package "+name)
	p.write(name+"/build/out.o", "built "+name)
	p.write(name+"/sub/.git", "gitdir: ../.git/modules/sub\n")
}

func (p *place) rename(from, to string) {
	p.t.Helper()
	if err := os.Rename(p.path(from), p.path(to)); err != nil {
		p.t.Fatal(err)
	}
}

// A repository below the workspace is covered, also what it ignores if it was only moved. Its .git used to stay where it was
// moved to, or was lost, without a word.
func TestNestedRepositories(t *testing.T) {
	for name, f := range map[string]func(p *place){
		"move":    func(p *place) { p.rename("a", "b") },
		"deeper":  func(p *place) { p.write("x/y", "1"); p.rename("a", "x/z") },
		"swap":    func(p *place) { p.rename("a", "tmp"); p.rename("c", "a"); p.rename("tmp", "c") },
		"replace": func(p *place) { p.rename("a", "b"); p.write("a", "a file") },
		"commit": func(p *place) {
			p.write("a/.git/HEAD", "0123\n")
			p.write("a/.git/objects/12/34", "new")
			p.remove("a/.git/objects/ab")
		},
		"submodule": func(p *place) { p.remove("a/sub/.git"); p.write("a/sub/.git/HEAD", "a directory") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.open(undo.Limits{FileBytes: 10 << 20, Bytes: 64 << 20, Files: 1000})
			p.nested("a")
			p.nested("c")
			p.write("a/big.bin", strings.Repeat("x", 11<<20)) // over the limit: it can be moved back
			was := p.tree()
			found := p.call(func() { f(p) })
			now := p.tree()
			if len(found.Lost) > 0 {
				t.Errorf("lost: %v", found.Lost)
			}
			changes := undo.FromJournal(undo.Journaled(found.Changes))
			back, left := p.undo(changes, undo.PlanOptions{})
			if len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			p.same(was, "undone")
			if _, left := p.undo(back, undo.PlanOptions{}); len(left) > 0 {
				t.Errorf("redo left: %v", left)
			}
			p.same(now, "redone")
		})
	}
}

// What can't be restored is in the result: an ignored directory or a file over the limit that a command deleted, or changed
// after a move.
func TestLost(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 10 << 20, Bytes: 64 << 20, Files: 1000})
	p.nested("a")
	p.nested("c")
	p.write("a/big.bin", strings.Repeat("x", 11<<20))
	p.write("big.bin", strings.Repeat("x", 11<<20))
	found := p.call(func() {
		p.remove("a")
		p.rename("c", "b")
		p.write("b/build/more.o", "1")
		p.write("big.bin", strings.Repeat("y", 11<<20))
	})
	var got []string
	for _, l := range found.Lost {
		rel, _ := filepath.Rel(p.root, l.Path)
		got = append(got, fmt.Sprintf("%s: %s", rel, l.Why))
	}
	want := "a/big.bin: over 10 MB\na/build: an ignored directory\nb/build: an ignored directory\nbig.bin: over 10 MB\nc/build: an ignored directory"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("lost:\n%s\nwant:\n%s", text, want)
	}
	plan := undo.NewPlan(found.Changes, p.store(), undo.PlanOptions{})
	plan.Lose(found.Lost)
	n := 0
	for _, l := range plan.Left {
		if l.Lost {
			n++
		}
	}
	if n != len(found.Lost) {
		t.Errorf("left: %v", plan.Left)
	}
}

// A large file is saved as a clone or a copy, never as a hard link, which a write in place would change too. A file whose
// times were set back, or that changed just before it was saved, is noticed.
func TestLargeFiles(t *testing.T) {
	serial.Test(t)
	p := newPlace(t)
	const size = 5 << 20
	for _, name := range []string{"deleted", "inplace", "moved", "touched", "mode"} {
		p.write(name, strings.Repeat(name[:1], size))
	}
	was := p.tree()
	p.call(func() {})
	found := p.call(func() {
		p.remove("deleted")
		p.rename("moved", "elsewhere")
		for _, name := range []string{"inplace", "touched"} {
			info, err := os.Stat(p.path(name))
			if err != nil {
				t.Fatal(err)
			}
			if _, names := hardlink.Of(info); names > 1 {
				t.Errorf("%s has %d names", name, names)
			}
			f, err := os.OpenFile(p.path(name), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte("changed"), size/2); err != nil {
				t.Fatal(err)
			}
			f.Close()
			if name == "touched" {
				if err := os.Chtimes(p.path(name), info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chmod(p.path("mode"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if got := p.paths(found.Changes); got != "deleted elsewhere inplace mode moved touched" || len(found.Lost) > 0 {
		t.Errorf("changes: %s, lost: %v", got, found.Lost)
	}
	now := p.tree()
	back, left := p.undo(undo.FromJournal(undo.Journaled(found.Changes)), undo.PlanOptions{})
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.same(was, "undone")
	if _, left = p.undo(back, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("redo left: %v", left)
	}
	p.same(now, "redone")
}

// Copies of large files count towards the total, and those that aren't needed any more don't.
func TestTotal(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 64 << 20, Bytes: 10 << 20, Files: 1000})
	p.write("a", strings.Repeat("a", 4<<20))
	p.write("b", strings.Repeat("b", 5<<20))
	p.write("c", strings.Repeat("c", 6<<20))
	for i := range 3 {
		found := p.call(func() { p.rename([]string{"a", "a1", "a2"}[i], []string{"a1", "a2", "a3"}[i]) })
		if len(found.Changes) != 2 || len(found.Lost) > 0 {
			t.Errorf("%d: %v, lost %v", i, p.paths(found.Changes), found.Lost)
		}
	}
	if found := p.call(func() { p.remove("c") }); len(found.Lost) != 1 || found.Lost[0].Why != "files over 10 MB in all" {
		t.Skipf("lost: %v (the file system clones)", found.Lost)
	}
}
