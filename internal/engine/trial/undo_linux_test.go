package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// contents returns what undo restores of a tree, as text: types, modes, contents and targets.
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

// Undoing the kept changes of a random command is the same as not having run it, and what can't be undone is reported.
func TestUndoOfKept(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	env := append(os.Environ(), "TRIAL_TEST="+testProgram(t))
	rounds, seed := soak.Count(10, 500), randomSeed()
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
		if problem := b.keepAndUndo(line, env); problem != "" {
			t.Fatalf("%d: %s: %s", n, line, problem)
		}
	}
}

// Kept changes in a git directory are undone with the rest.
func TestUndoOfGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	b := opened(t, Options{})
	b.write("dir/a.txt", "a\n")
	git := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent; "
	tried, _, _ := b.try(git + "git init -q . && git add . && git commit -qm one && git branch other")
	if _, err := tried.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"echo b > b.txt && git add . && git commit -qm two", "git mv dir moved && git commit -qm three", "git checkout -q other && git branch -D -q master main; git gc -q",
		"rm -rf .git && git init -q .",
	} {
		if problem := b.keepAndUndo(git+line, nil); problem != "" {
			t.Errorf("%s: %s", line, problem)
		}
	}
}

// keepAndUndo tries a command, keeps what it changed and undoes that. It says what differs then.
func (b *bench) keepAndUndo(line string, env []string) string {
	t := b.t
	t.Helper()
	before := contents(t, b.root)
	tracker := undo.New(undo.Options{
		Home: t.TempDir(), Session: "s", Roots: []string{b.root}, Jobs: func() []string { return nil },
		Limits: undo.Limits{FileBytes: 4 << 20, Bytes: 512 << 20, Files: 100_000},
	})
	w := tracker.Keeping(tool.Request{Call: tool.Call{ID: "c"}})
	tried, _, e := b.tryIn(line, env)
	kept, err := tried.Keep(context.Background(), nil)
	if err != nil {
		return fmt.Sprintf("%v\n%+v", err, e)
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
	if now := contents(t, b.root); now != before || len(left) > 0 || len(found.Lost) > 0 {
		return fmt.Sprintf("left %v, notes %v\n%s\n%+v", left, found.Lost, diff(before, now), e)
	}
	return ""
}
