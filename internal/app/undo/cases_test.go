package undo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

// paths returns the changed paths, as text.
func (p *place) paths(changes []undo.Change) string {
	var out []string
	for _, c := range changes {
		rel, _ := filepath.Rel(p.root, c.Path)
		out = append(out, rel)
	}
	return strings.Join(out, " ")
}

// Ignored directories are skipped and named; ignored files elsewhere are covered, as is what an AI ignore file protects.
func TestIgnored(t *testing.T) {
	p := newPlace(t)
	p.write(".gitignore", ".env\nnode_modules/\n")
	p.write(".adzeignore", "secret/\n")
	p.write(".env", "KEY=1")
	p.write("secret/key", "1")
	p.write("node_modules/x/y", "1")
	p.write(".git/HEAD", "ref: refs/heads/main\n")
	was := p.tree()
	found := p.call(func() {
		p.write(".env", "KEY=2")
		p.write("secret/key", "2")
		p.write("node_modules/new", "1")
		p.write(".git/HEAD", "ref: refs/heads/other\n")
	})
	if got := p.paths(found.Changes); got != ".env secret/key" {
		t.Errorf("changes: %s", got)
	}
	if note := found.Note([]string{p.root}); note != "undo can't restore these changes: .git (undo doesn't restore the repository of the workspace), "+
		"node_modules (an ignored directory)." {
		t.Errorf("note: %s", note)
	}
	p.undo(found.Changes, undo.PlanOptions{})
	now := p.tree()
	for _, path := range []string{".env", "secret/key"} {
		if now[path] != was[path] {
			t.Errorf("%s is %q", path, now[path])
		}
	}
}

// A command that changes ignore files used to make whole directories look new or deleted: an undo would delete
// node_modules.
func TestChangedIgnoreFile(t *testing.T) {
	p := newPlace(t)
	p.write(".gitignore", "node_modules/\n")
	p.write("node_modules/x", "1")
	p.write("src/a", "1")
	found := p.call(func() { p.write(".gitignore", "src/\n") })
	if got := p.paths(found.Changes); got != ".gitignore" {
		t.Errorf("changes: %s", got)
	}
	found = p.call(func() { p.write("src/a", "2") })
	if got := p.paths(found.Changes); got != "src/a" {
		t.Errorf("changes: %s", got)
	}
}

// Changes of other programs between two commands are not undone.
func TestChangesOfOthers(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.write("b", "1")
	first := p.call(func() { p.write("a", "2") })
	p.write("a", "editor")
	p.write("b", "editor")
	second := p.call(func() { p.write("b", "3") })
	if got := p.paths(second.Changes); got != "b" {
		t.Errorf("changes: %s", got)
	}
	_, left := p.undo(append(first.Changes, second.Changes...), undo.PlanOptions{})
	if len(left) != 1 || left[0] != (undo.Left{Path: p.path("a"), Why: "changed since", Changed: true}) {
		t.Errorf("left: %v", left)
	}
	now := p.tree()
	if !strings.HasSuffix(now["a"], "editor") || !strings.HasSuffix(now["b"], "editor") {
		t.Errorf("%v", now)
	}
}

// Changes while a background command runs belong to the call that started it.
func TestBackgroundCommand(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.write("b", "1")
	was := p.tree()
	p.call(func() { p.jobs = []string{"bg_1"} })
	p.write("a", "2")
	found := p.call(func() { p.write("b", "2") })
	job := undo.Ref{ID: "call-1"}
	if got := p.paths(found.Jobs[job].Changes); got != "a b" || len(found.Changes) != 0 {
		t.Errorf("%+v", found)
	}
	p.write("a", "3")
	p.jobs = nil
	last := p.tracker.Ended(t.Context(), true)
	if got := p.paths(last.Jobs[job].Changes); got != "a" {
		t.Errorf("%+v", last)
	}
	p.undo(append(found.Jobs[job].Changes, last.Jobs[job].Changes...), undo.PlanOptions{})
	p.same(was, "undone")
	p.write("a", "by the user")
	if found := p.call(func() { p.write("b", "4") }); p.paths(found.Changes) != "b" {
		t.Errorf("%+v", found)
	}
}

// Only declared paths are saved for a call that declares them, with the directories that it makes.
func TestDeclaredWrites(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	was := p.tree()
	target := p.path("x/y/z")
	found := p.callWith(func() {
		p.write("x/y/z", "new")
		p.write("a", "2")
	}, tool.Access{Verb: tool.Writes, Target: target}, tool.Access{Verb: tool.Writes, Target: p.path("a")})
	if len(found.Changes) != 4 {
		t.Errorf("%+v", found.Changes)
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Error(left)
	}
	p.same(was, "undone")
}

// A call that can only read, by its access or by its grant, is not scanned.
func TestReadOnlyCalls(t *testing.T) {
	exec := tool.Access{Verb: tool.Execs, Target: "ls"}
	read := tool.Access{Verb: tool.Reads, Target: "*"}
	for _, tt := range []struct {
		access []tool.Access
		grant  []tool.Access
		want   bool
	}{
		{[]tool.Access{exec}, nil, true},
		{[]tool.Access{tool.Anything}, nil, true},
		{[]tool.Access{exec}, []tool.Access{read}, false},
		{[]tool.Access{read}, nil, false},
		{[]tool.Access{{Verb: tool.Writes, Target: "/a"}}, nil, false},
		{[]tool.Access{{Verb: tool.Writes, Target: "/a/"}}, nil, true},
		{[]tool.Access{{Verb: tool.Locks, Target: "job"}, tool.Nothing, {Verb: tool.Reaches, Target: "host"}}, nil, false},
	} {
		if got := undo.Scans(tt.access, tool.Decision{Grant: tt.grant}); got != tt.want {
			t.Errorf("%v granted %v: %v", tt.access, tt.grant, got)
		}
	}
}

// Files over the limits are named, and everything else is restored.
func TestLimits(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 100, Bytes: 250, Files: 1000})
	p.write("big", strings.Repeat("x", 101))
	p.write("a", strings.Repeat("1", 90))
	p.write("b", strings.Repeat("2", 95))
	p.write("c", strings.Repeat("3", 99))
	found := p.call(func() {
		for _, name := range []string{"big", "a", "b", "c"} {
			p.remove(name)
		}
	})
	if got := p.paths(found.Changes); got != "a b" {
		t.Errorf("changes: %s", got)
	}
	if notes := found.Note([]string{p.root}); !strings.Contains(notes, "big (over 100 bytes)") || !strings.Contains(notes, "c (files over 250 bytes in all)") {
		t.Errorf("notes: %s", notes)
	}
}

// In a workspace with too many files, such as a home directory, some are covered, with a note. Unvisited files don't look
// deleted or new.
func TestTooManyEntries(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 1 << 20, Bytes: 1 << 30, Files: 100_000, Entries: 50})
	for i := range 200 {
		p.write(fmt.Sprintf("d%d/f%d", i%10, i), "1")
	}
	found := p.call(func() {})
	if len(found.Changes) > 0 || !strings.Contains(found.Note([]string{p.root}), ". (over 50 files and directories: changes of the others aren't known)") {
		t.Errorf("%+v", found)
	}
	was := p.tree()
	found = p.call(func() { p.remove("d0"); p.remove("d1"); p.remove("d2") })
	p.undo(found.Changes, undo.PlanOptions{})
	now := p.tree()
	for _, c := range found.Changes {
		rel, _ := filepath.Rel(p.root, c.Path)
		if now[rel] != was[rel] {
			t.Errorf("%s is %q", rel, now[rel])
		}
	}
}

// Files that vanish while they are compared are neither an error nor lost. They used to be files that can't be read.
func TestVanishingFiles(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.call(func() {})
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			dir := p.path(fmt.Sprintf("d%d", i%3))
			_ = os.MkdirAll(filepath.Join(dir, "sub"), 0o755)
			_ = os.WriteFile(filepath.Join(dir, "sub", "f"), []byte("1"), 0o644)
			_ = os.RemoveAll(dir)
		}
	}()
	for range 100 {
		if found := p.call(func() {}); len(found.Lost) > 0 {
			t.Errorf("%v", found.Lost)
			break
		}
	}
	close(done)
	<-stopped
	p.call(func() {})
	if found := p.call(func() { p.write("a", "2") }); p.paths(found.Changes) != "a" || len(found.Lost) > 0 {
		t.Errorf("%+v", found)
	}
}

// Of too many files the newest are saved, and changes of the others are named. A file that is new is saved anyway.
func TestTooManyFiles(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 1 << 20, Bytes: 1 << 30, Files: 20})
	for i := range 40 {
		name := fmt.Sprintf("d/f%02d", i)
		p.write(name, "1")
		at := time.Unix(1_000_000+int64(i/15), 0) // 10 of the newest time, 15 of another, of which 10 are saved
		if err := os.Chtimes(p.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	p.call(func() {})
	found := p.call(func() { p.write("new", "1") })
	if got := p.paths(found.Changes); got != "new" || len(found.Lost) > 0 {
		t.Errorf("changes: %s, lost: %v", got, found.Lost)
	}
	found = p.call(func() {
		p.write("new", "2")
		for i := range 40 {
			p.write(fmt.Sprintf("d/f%02d", i), "2")
		}
	})
	if len(found.Changes) != 21 || len(found.Lost) != 20 || found.Lost[0].Why != "too many files (undo.maxFiles)" {
		t.Errorf("changes: %s, lost: %v", p.paths(found.Changes), found.Lost)
	}
	for _, l := range found.Lost {
		if l.Path >= p.path("d/f30") {
			t.Errorf("lost: %v", l)
		}
	}
}

// A file that isn't saved, and whose times were set back after a write, is named; a new mode can be restored.
func TestUnsavedFile(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 5, Bytes: 1 << 30, Files: 20})
	p.write("a", "too large")
	p.write("b", "too large")
	p.call(func() {})
	found := p.call(func() {
		info, err := os.Stat(p.path("a"))
		if err != nil {
			t.Fatal(err)
		}
		p.write("a", "TOO LARGE")
		if err := errors.Join(os.Chtimes(p.path("a"), info.ModTime(), info.ModTime()), os.Chmod(p.path("b"), 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	if got := p.paths(found.Changes); got != "b" || len(found.Lost) != 1 || found.Lost[0].Path != p.path("a") {
		t.Errorf("changes: %s, lost: %v", got, found.Lost)
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Error(left)
	}
	if info, err := os.Stat(p.path("b")); err != nil || info.Mode().Perm() != 0o644 {
		t.Error(info, err)
	}
}

// A formatter over many files.
func TestManyFiles(t *testing.T) {
	p, files := newPlace(t), soak.Count(200, 2000)
	for i := range files {
		p.write(fmt.Sprintf("d%d/f%d.go", i%20, i), fmt.Sprint("line ", i))
	}
	was := p.tree()
	found := p.call(func() {
		for i := range files {
			p.write(fmt.Sprintf("d%d/f%d.go", i%20, i), fmt.Sprint("formatted ", i))
		}
	})
	if len(found.Changes) != files {
		t.Errorf("%d changes", len(found.Changes))
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Error(left)
	}
	p.same(was, "undone")
}

// The workspace itself is deleted.
func TestWorkspaceDeleted(t *testing.T) {
	p := newPlace(t)
	p.write("a/b", "1")
	was := p.tree()
	found := p.call(func() { p.remove("") })
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Error(left)
	}
	p.same(was, "undone")
}

// A directory in place of a file goes only if nothing else is in it.
func TestFileReplacedByDirectory(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	was := p.tree()
	found := p.call(func() {
		p.remove("a")
		p.write("a/b", "2")
	})
	p.write("a/mine", "3")
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) != 1 || left[0].Why != "the directory contains mine" {
		t.Errorf("left: %v", left)
	}
	p.remove("a/mine")
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.same(was, "undone")
}

// Names and targets that aren't valid UTF-8 survive the journal.
func TestOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs file names of any bytes")
	}
	p := newPlace(t)
	p.write("a\xff\xfe\nb", "1")
	if err := os.Symlink("to\xff", p.path("\"link")); err != nil {
		t.Fatal(err)
	}
	was := p.tree()
	found := p.call(func() { p.remove("a\xff\xfe\nb"); p.remove("\"link") })
	p.undo(undo.FromJournal(undo.Journaled(found.Changes)), undo.PlanOptions{})
	p.same(was, "undone")
}

// If the store is missing, or can't be created, the result says so, and nothing else changes.
func TestStoreGone(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.write("b", "1")
	found := p.call(func() { p.remove("a") })
	if err := os.RemoveAll(p.home); err != nil {
		t.Fatal(err)
	}
	p.open(undo.Limits{FileBytes: 1 << 20, Bytes: 1 << 20, Files: 100})
	_, left := p.undo(found.Changes, undo.PlanOptions{})
	if len(left) != 1 || !strings.Contains(left[0].Why, "its saved content is gone") {
		t.Errorf("left: %v", left)
	}
	if err := os.RemoveAll(p.home); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.home, nil, 0o600); err != nil { // no directory can be made here
		t.Fatal(err)
	}
	for range 2 {
		found = p.call(func() { p.write("b", "2") })
		if len(found.Lost) != 1 || found.Lost[0].Path != p.root || !strings.Contains(found.Lost[0].Why, "save file contents in ") {
			t.Errorf("lost: %q", found.Lost)
		}
		found = p.callWith(func() { p.write("b", "3") }, tool.Access{Verb: tool.Writes, Target: p.path("b")})
		if len(found.Lost) != 1 || found.Lost[0].Path != p.path("b") {
			t.Errorf("lost: %q", found.Lost)
		}
	}
}

// Only the contents that are named are kept.
func TestCompact(t *testing.T) {
	p := newPlace(t)
	s := p.store()
	var names []string
	for _, text := range []string{"one", "two", strings.Repeat("x", 2<<20), strings.Repeat("y", 2<<20), ""} {
		n, err := s.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
	kept := map[string]bool{names[0]: true, names[2]: true, names[4]: true}
	if err := s.Compact(kept); err != nil {
		t.Fatal(err)
	}
	again, err := undo.OpenStore(p.home, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i, n := range names {
		for _, store := range []*undo.Store{s, again} {
			if _, err := store.Get(n); (err == nil) != kept[n] {
				t.Errorf("content %d: %v", i, err)
			}
		}
	}
	if err := s.Compact(nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(p.home, "store", "undo")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A mode that takes the permission to read or to enter away is undone, as root and as an ordinary user.
func TestModes(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.write("d/b", "1")
	was := p.tree()
	found := p.call(func() {
		p.write("d/b", "2")
		for name, mode := range map[string]os.FileMode{"a": 0, "d": 0o500} {
			if err := os.Chmod(p.path(name), mode); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got := p.paths(found.Changes); got != "a d d/b" {
		t.Errorf("changes: %s, notes: %q", got, found.Lost)
	}
	redo, left := p.undo(found.Changes, undo.PlanOptions{})
	if len(left) > 0 {
		t.Error(left)
	}
	p.same(was, "undone")
	if _, left := p.undo(redo, undo.PlanOptions{}); len(left) > 0 {
		t.Error(left)
	}
	for name, mode := range map[string]os.FileMode{"a": 0, "d": 0o500} {
		if info, err := os.Stat(p.path(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if err := os.Chmod(p.path("d"), 0o700); err != nil { // so that it can be deleted
		t.Error(err)
	}
}

// The workspace is saved while the user thinks about an approval, and Close doesn't wait for that.
func TestPrepare(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.tracker.Prepare(t.Context(), []tool.Access{{Verb: tool.Execs, Target: "x"}})
	found := p.call(func() { p.write("a", "2") })
	if got := p.paths(found.Changes); got != "a" {
		t.Errorf("changes: %s", got)
	}
	if !undo.IsOpen(p.home, "s") {
		t.Error("the store isn't marked as open")
	}
	if err := p.tracker.Close(func() (map[string]bool, error) { return map[string]bool{found.Changes[0].Before.Is: true}, nil }); err != nil {
		t.Fatal(err)
	}
	defer func() { p.tracker = nil }() // it is closed
	if undo.IsOpen(p.home, "s") {
		t.Error("the store is still marked as open")
	}
	// The goroutine of Prepare may run only now.
	p.call(func() {})
	if undo.IsOpen(p.home, "s") {
		t.Error("a call after Close marked the store as open")
	}
}

// Adze's own directory is never saved, not even as the workspace.
func TestOwnDirectory(t *testing.T) {
	for _, inside := range []string{"", "state"} {
		p := newPlace(t)
		p.home = filepath.Join(p.root, inside)
		p.open(undo.Limits{FileBytes: 1 << 20, Bytes: 1 << 20, Files: 100})
		p.write("a", "1")
		p.call(func() { p.write("state/x", "1") })
		found := p.call(func() { p.write("state/x", "2") })
		if len(found.Changes)+len(found.Lost) > 0 {
			t.Errorf("%q: %+v", inside, found)
		}
	}
}
