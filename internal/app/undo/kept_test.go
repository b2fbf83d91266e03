package undo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/tool"
)

// Changes of a tried call are undone and redone from what they replaced: nothing is saved before, and nothing is scanned.
func TestKept(t *testing.T) {
	p := newPlace(t)
	p.write("changed", "old")
	p.write("mode", "same")
	p.write("gone/a", "1")
	p.write("gone/deep/b", "2")
	p.write("becomes-dir", "file")
	p.write("untouched", "x")
	if err := os.Symlink("changed", p.path("link")); err != nil {
		t.Fatal(err)
	}
	before := p.tree()
	upper := t.TempDir()
	var paths []undo.KeptPath
	// replace moves the old file away, as keeping does.
	replace := func(name string, fill func()) {
		k := undo.KeptPath{Path: p.path(name)}
		if _, err := os.Lstat(k.Path); err == nil {
			k.Before = filepath.Join(upper, name)
			if err := os.Rename(k.Path, k.Before); err != nil {
				t.Fatal(err)
			}
		}
		fill()
		paths = append(paths, k)
	}
	q := tool.Request{Call: tool.Call{ID: "c", By: "explore"}, Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: p.root + "/"}}}}
	w := p.tracker.Keeping(q)
	replace("changed", func() { p.write("changed", "new") })
	replace("gone", func() {})
	replace("becomes-dir", func() { p.write("becomes-dir/in", "it") })
	replace("new", func() { p.write("new/a/b", "n") })
	replace("link", func() {
		if err := os.Symlink("untouched", p.path("link")); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.Chmod(p.path("mode"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths = append(paths, undo.KeptPath{Path: p.path("mode"), ModeOnly: true, Mode: 0o644})
	after := p.tree()
	p.tracker.Kept(undo.Ref{By: "explore", ID: "c"}, paths)
	if err := os.RemoveAll(upper); err != nil {
		t.Fatal(err)
	}
	found := w.After(t.Context())
	if len(found.Lost) > 0 {
		t.Errorf("notes: %q", found.Lost)
	}
	back, left := p.undo(found.Changes, undo.PlanOptions{})
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.same(before, "undone")
	if _, left := p.undo(back, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.same(after, "redone")
	if undo.IsOpen(p.home, "s") {
		t.Error("the workspace was saved")
	}
}
