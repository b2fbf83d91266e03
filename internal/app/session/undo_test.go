package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// shellCall returns an answer that runs a command.
func shellCall(id, command string) openaitest.Answer {
	return openaitest.Answer{Calls: []openaitest.Call{{ID: id, Name: "run_shell_command", Args: fmt.Appendf(nil, `{"command":%q}`, command)}}}
}

func (d *desk) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// holds reports whether a file has that content; "": it doesn't exist.
func (d *desk) holds(t *testing.T, name, content string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(got) != content {
		t.Errorf("%s is %q, want %q (%v)", name, got, content, err)
	}
}

func skipWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
}

// A running session undoes and redoes, and the model learns of it.
func TestUndoInASession(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, shellCall("c1", "rm -rf src"), openaitest.Answer{Text: "removed"},
		openaitest.Answer{Expect: []string{"The user undid changes of earlier calls", "src/a"}, Text: "I see"})
	d.write(t, "src/a", "1")
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	d.holds(t, "src/a", "")
	for i, sel := range []record.Selection{{}, {Redo: true}, {Call: "c1"}} {
		u, err := s.Effects.Undo(sel)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := u.Apply(t.Context()); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		d.holds(t, "src/a", []string{"1", "", "1"}[i])
	}
	var nothing *record.NothingError
	if _, err := s.Effects.Undo(record.Selection{}); !errors.As(err, &nothing) {
		t.Errorf("a second undo: %v", err)
	}
	if _, err := s.Effects.Undo(record.Selection{Call: "c9"}); !errors.Is(err, project.ErrSession) {
		t.Errorf("an unknown call: %v", err)
	}
	d.say(t, c, "and now?")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A fork can be undone without the session that it was made from, whose contents go with it.
func TestUndoOfAFork(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, shellCall("c1", "echo 2 > a; rm b"), openaitest.Answer{Text: "done"})
	d.write(t, "a", "1\n")
	d.write(t, "b", strings.Repeat("large", 300_000))
	d.write(t, "unchanged", "1")
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if undo.IsOpen(d.home, s.ID) {
		t.Error("the store still has what no call changed")
	}
	fork := record.NewID()
	if err := record.Of(s.Directory).Fork(s.ID, 0, fork); err != nil {
		t.Fatal(err)
	}
	if err := record.Of(s.Directory).DeleteSession(s.ID); err != nil {
		t.Fatal(err)
	}
	if stores, err := undo.Stores(d.home); err != nil || len(stores) != 1 || stores[0] != fork {
		t.Errorf("stores: %v %v", stores, err)
	}
	for range 2 { // a store is as good after it was used
		for _, sel := range []record.Selection{{}, {Redo: true}} {
			u, err := record.Of(s.Directory).OpenUndo(fork, sel, nil)
			if err != nil {
				t.Fatal(err)
			}
			left, err := u.Apply(t.Context())
			if err = errors.Join(err, u.Close()); err != nil || len(left) > 0 {
				t.Fatal(left, err)
			}
			if sel.Redo {
				d.holds(t, "a", "2\n")
				d.holds(t, "b", "")
			} else {
				d.holds(t, "a", "1\n")
				d.holds(t, "b", strings.Repeat("large", 300_000))
			}
		}
	}
}

// The changes of a command over many files don't fit into an entry, and are undone.
func TestUndoOfManyFiles(t *testing.T) {
	serial.Test(t)
	skipWindows(t)
	d := newDesk(t, shellCall("c1", "for f in */*/*/*/*/*/*/*/*.go; do echo new > $f; done"), openaitest.Answer{Text: "done"})
	const files = 400 // each path has 1,600 bytes, an entry 512 KB
	name := strings.Repeat(strings.Repeat("d", 200)+"/", 8) + "%04d.go"
	for i := range files {
		d.write(t, fmt.Sprintf(name, i), fmt.Sprint(i))
	}
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d.holds(t, fmt.Sprintf(name, 7), "new\n")
	u, err := record.Of(s.Directory).OpenUndo(s.ID, record.Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Todo()) != files {
		t.Errorf("%d paths", len(u.Todo()))
	}
	left, err := u.Apply(t.Context())
	if err = errors.Join(err, u.Close()); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	for i := range files {
		d.holds(t, fmt.Sprintf(name, i), fmt.Sprint(i))
	}
}

// A session that was killed keeps what its calls changed, once another one ends. An undo that was killed isn't done.
func TestUndoAfterAKill(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, shellCall("c1", "echo 2 > a; rm -r dir; echo file > dir"), openaitest.Answer{Text: "done"})
	d.write(t, "a", "1\n")
	d.write(t, "dir/x", "1\n")
	d.write(t, "unchanged", "not needed")
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	s.Recorder.Close() // and nothing else: as if it was killed
	if !undo.IsOpen(d.home, s.ID) {
		t.Fatal("the store isn't open")
	}
	if err := record.Of(s.Directory).CleanUp(t.Context(), s.Settings.General); err != nil {
		t.Fatal(err)
	}
	if undo.IsOpen(d.home, s.ID) {
		t.Error("the store still has what no call changed")
	}
	u, err := record.Of(s.Directory).OpenUndo(s.ID, record.Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dir, "dir")); err != nil { // the undo was killed here
		t.Fatal(err)
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if u, err = record.Of(s.Directory).OpenUndo(s.ID, record.Selection{}, nil); err != nil {
		t.Fatal(err)
	}
	left, err := u.Apply(t.Context())
	if err = errors.Join(err, u.Close()); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	d.holds(t, "a", "1\n")
	d.holds(t, "dir/x", "1\n")
	if err := s.Close(); err != nil {
		t.Log(err)
	}
}
