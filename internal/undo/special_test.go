//go:build unix

package undo_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/undo"
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
	if got, notes := p.paths(found.Changes), strings.Join(found.Notes, "\n"); got != "a" ||
		!strings.Contains(notes, "new (a named pipe (FIFO)), old (a named pipe (FIFO)).") {
		t.Errorf("changes: %s, notes: %s", got, notes)
	}
	if _, left := p.undo(found.Changes, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
