package undo_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/tool"
)

// place is a workspace with a tracker.
type place struct {
	t       testing.TB
	root    string
	home    string
	tracker *undo.Tracker
	jobs    []string
	calls   int
	watch   *watch.Hub
}

func newPlace(t testing.TB) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: root, home: t.TempDir(), watch: &watch.Hub{}}
	p.open(undo.Limits{FileBytes: 64 << 20, Bytes: 512 << 20, Files: 100_000})
	t.Cleanup(p.close)
	return p
}

func (p *place) open(limits undo.Limits) {
	p.close()
	p.tracker = undo.New(undo.Options{Home: p.home, Session: "s", Roots: []string{p.root}, Limits: limits, Watch: p.watch, Jobs: func() []string { return p.jobs }})
}

// close ends the watches.
func (p *place) close() {
	if p.tracker != nil {
		_ = p.tracker.Close(func() (map[string]bool, error) { return nil, errors.New("keep all") })
	}
	p.tracker = nil
}

func (p *place) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// call runs f as a command.
func (p *place) call(f func()) undo.Found {
	p.t.Helper()
	return p.callWith(f, tool.Access{Verb: tool.Execs, Target: "command"})
}

func (p *place) callWith(f func(), access ...tool.Access) undo.Found {
	p.t.Helper()
	p.calls++
	q := tool.Request{Call: tool.Call{ID: fmt.Sprint("call-", p.calls)}, Invocation: tool.Invocation{Access: access}}
	w := p.tracker.Before(p.t.Context(), q, tool.Decision{})
	f()
	return w.After(p.t.Context())
}

func (p *place) store() *undo.Store {
	p.t.Helper()
	s, err := p.tracker.Store()
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// undo undoes changes, and returns those that redo them.
func (p *place) undo(changes []undo.Change, o undo.PlanOptions) ([]undo.Change, []undo.Left) {
	p.t.Helper()
	plan := undo.NewPlan(changes, p.store(), o)
	if _, err := plan.Save(); err != nil {
		p.t.Fatal(err)
	}
	done, left := plan.Apply()
	return done, append(plan.Left, left...)
}

// tree returns everything in the workspace as text.
func (p *place) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case d.Type().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(content)
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			text = "-> " + target
		}
		if rel != "." {
			all[rel] = text
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *place) same(want map[string]string, when string) {
	p.t.Helper()
	got := p.tree()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			p.t.Errorf("%s: %s is %.80q, want %.80q", when, path, got[path], want[path])
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			p.t.Errorf("%s: %s exists: %.80q", when, path, got[path])
		}
	}
}

// A random history of commands is undone and redone, step by step and all at once.
func TestAnyCommandsAreUndone(t *testing.T) {
	for seed := range uint64(soak.Count(6, 100)) {
		p := newPlace(t)
		r := rand.New(rand.NewPCG(seed, 1))
		for range 20 {
			p.disturb(r)
		}
		trees := []map[string]string{p.tree()}
		var all [][]undo.Change
		for range 6 {
			found := p.call(func() {
				for range 1 + r.IntN(5) {
					p.disturb(r)
				}
			})
			if len(found.Lost) > 0 {
				t.Fatalf("lost: %q", found.Lost)
			}
			all, trees = append(all, found.Changes), append(trees, p.tree())
		}
		var redo [][]undo.Change
		for i := len(all) - 1; i >= 0; i-- {
			done, left := p.undo(all[i], undo.PlanOptions{})
			if len(left) > 0 {
				t.Fatalf("seed %d: left %v", seed, left)
			}
			redo = append(redo, done)
			p.same(trees[i], fmt.Sprintf("seed %d undo %d", seed, i))
		}
		for i := range all {
			if _, left := p.undo(redo[len(redo)-1-i], undo.PlanOptions{}); len(left) > 0 {
				t.Fatalf("seed %d: redo left %v", seed, left)
			}
			p.same(trees[i+1], fmt.Sprintf("seed %d redo %d", seed, i))
		}
		if _, left := p.undo(slices.Concat(all...), undo.PlanOptions{}); len(left) > 0 {
			t.Fatalf("seed %d: left %v", seed, left)
		}
		p.same(trees[0], fmt.Sprintf("seed %d all", seed))
		if t.Failed() {
			return
		}
	}
}

// disturb changes something, as a command would.
func (p *place) disturb(r *rand.Rand) {
	name := func() string {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = string(rune('a' + r.IntN(4)))
		}
		return strings.Join(parts, "/")
	}
	path := p.path(name())
	switch r.IntN(9) {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, fmt.Append(nil, r.Uint64()), 0o644)
	case 3:
		_ = os.RemoveAll(path)
	case 4:
		_ = os.Rename(path, p.path(name()))
	case 5:
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(path, []fs.FileMode{0o700, 0o755, 0o750}[r.IntN(3)])
		}
	case 6:
		_ = os.Symlink(name(), path)
	case 7:
		_ = os.MkdirAll(path, 0o755)
	case 8:
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, []byte(strings.Repeat("large", 300_000)), 0o600)
	}
}
