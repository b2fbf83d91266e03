//go:build unix

package undo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
)

// A pipe that a command creates or removes can't be restored, with a note. Writing to one isn't a change.
func TestPipesAreNamed(t *testing.T) {
	p := newPlace(t)
	pipe := func(name string) {
		t.Helper()
		if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pipe("old")
	pipe("used")
	p.write("a", "1")
	found := p.call(func() {
		p.remove("old")
		pipe("new")
		fd, err := syscall.Open(p.path("used"), syscall.O_RDWR, 0) // doesn't wait for another process
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		if _, err := syscall.Write(fd, []byte("x")); err != nil {
			t.Fatal(err)
		}
		p.write("a", "2")
	})
	if got, notes := p.paths(found.Changes), found.Note([]string{p.root}); got != "a" ||
		!strings.Contains(notes, "new (a named pipe (FIFO)), old (a named pipe (FIFO)).") {
		t.Errorf("changes: %s, notes: %s", got, notes)
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A file may have another name outside the workspace, as in a package store. Undo restores the file and doesn't write or
// chmod the other name.
func TestOtherNamesOutside(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, name := range []string{"content", "mode"} {
		p.write(name, "1")
		if err := os.Link(p.path(name), outside+name); err != nil {
			t.Fatal(err)
		}
	}
	before := p.tree()
	found := p.call(func() {
		if err := errors.Join(os.WriteFile(p.path("content"), []byte("2"), 0), os.Chmod(p.path("mode"), 0o700)); err != nil {
			t.Fatal(err)
		}
	})
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.same(before, "undone")
	text, err := os.ReadFile(outside + "content")
	info, err2 := os.Stat(outside + "mode")
	if err = errors.Join(err, err2); err != nil || string(text) != "2" || info.Mode().Perm() != 0o700 {
		t.Errorf("undo changed files outside: %q, %v, %v", text, info.Mode(), err)
	}
}
