package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/internal/undo"
	"github.com/adze-dev/adze/tool"
)

// contents is what undo restores of a tree, as text: types, modes, contents and targets.
func contents(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		line := rel + " " + info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line = rel + " → " + target
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", text)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// Undoing what was kept of a random command is the same as not having run it, and what can't be undone is said.
func TestUndoOfKept(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	env := append(os.Environ(), "TRIAL_TEST="+testProgram(t))
	rounds, seed := soak.Count(10, 500), uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for n := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		emptied(t, b.root)
		plant(t, b.root, r)
		if err := os.Remove(filepath.Join(b.root, "twin")); err != nil { // undo doesn't restore other names of a file
			t.Fatal(err)
		}
		line := invent(r)
		if strings.Contains(line, "mkfifo") { // undo doesn't know what to put there
			continue
		}
		before := contents(t, b.root)
		tracker := undo.New(undo.Options{
			Home: t.TempDir(), Session: "s", Roots: []string{b.root}, Jobs: func() []string { return nil },
			Limits: undo.Limits{FileBytes: 4 << 20, Bytes: 512 << 20, Files: 100_000},
		})
		q := tool.Request{Call: tool.Call{ID: "c"}}
		w := tracker.Keeping(q)
		tried, _, e := b.tryIn(line, env)
		kept, err := tried.Keep(context.Background(), nil)
		if err != nil {
			t.Fatalf("%d: %s: %v\n%+v", n, line, err, e)
		}
		var paths []undo.KeptPath
		for _, c := range kept.Changes {
			paths = append(paths, undo.KeptPath{Path: c.Path, Before: kept.Before(c.Path), ModeOnly: c.Kind == ModeOnly, Mode: c.Old.Mode})
		}
		tracker.Kept(undo.Ref{ID: "c"}, paths)
		tried.Drop()
		found := w.After(context.Background())
		store, err := tracker.Store()
		if err != nil {
			t.Fatal(err)
		}
		plan := undo.NewPlan(found.Changes, store, undo.PlanOptions{})
		if _, err := plan.Save(); err != nil {
			t.Fatal(err)
		}
		_, left := plan.Apply()
		left = slices.Concat(plan.Left, left)
		if now := contents(t, b.root); now != before || len(left) > 0 || len(found.Notes) > 0 {
			t.Fatalf("%d: %s: left %v, notes %v\n%s\n%+v", n, line, left, found.Notes, diff(before, now), e)
		}
	}
}
