package undo_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// asGit returns a tree as git knows it: without directories, and only with the executable bit of modes.
func asGit(tree map[string]string) map[string]string {
	out := map[string]string{}
	for path, text := range tree {
		mode, content, isFile := strings.Cut(text, " ")
		switch {
		case strings.HasPrefix(text, "-> "):
			out[path] = text
		case isFile:
			out[path] = fmt.Sprint(mode[3] == 'x') + " " + content
		}
	}
	return out
}

// copyTo copies the workspace, without empty directories, which git doesn't know: it doesn't replace them by a file if they
// contain others.
func (p *place) copyTo(dir string) {
	p.t.Helper()
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.root, path)
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			return os.Symlink(target, to)
		default:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(to, content, info.Mode())
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// The patch of random commands and edits, applied by git to a copy from before, gives the workspace after; undo gives the
// first one again, with modes, links and empty directories.
func TestDiffOfAnyCommands(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("links and modes")
	}
	for seed := range uint64(soak.Count(10, 1000)) {
		p := newPlace(t)
		r := rand.New(rand.NewPCG(seed, 7))
		for range 20 {
			p.disturb(r)
		}
		before := t.TempDir()
		p.copyTo(before)
		was := p.tree()
		var all []undo.Change
		for range 1 + r.IntN(5) {
			if r.IntN(3) == 0 { // an edit
				name := p.path("edited.txt")
				text := fmt.Sprintf("%d\n\x00%d", r.IntN(9), r.IntN(9))
				found := p.callWith(func() { p.write("edited.txt", text[:2+r.IntN(3)]) },
					tool.Access{Verb: tool.Writes, Target: name})
				all = append(all, found.Changes...)
				continue
			}
			found := p.call(func() {
				for range 1 + r.IntN(8) {
					p.disturb(r)
				}
			})
			all = append(all, found.Changes...)
		}
		patch := ""
		differ := undo.Differ{Store: p.store(), Dir: p.root}
		for _, c := range undo.Net(all) {
			one, err := differ.Patch(c)
			if err != nil && !strings.Contains(err.Error(), "isn't part of a patch") {
				t.Fatalf("seed %d: %s: %v", seed, c.Path, err)
			}
			patch += one.Patch
		}
		after := p.tree()
		if patch != "" {
			cmd := exec.Command("git", "apply", "--whitespace=nowarn")
			cmd.Dir, cmd.Stdin = before, strings.NewReader(patch)
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(before), "GIT_CONFIG_GLOBAL=/dev/null")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("seed %d: git apply: %v\n%s\n%.2000s", seed, err, out, patch)
			}
		}
		copied := &place{t: t, root: before}
		got, want := asGit(copied.tree()), asGit(after)
		for path := range want {
			if got[path] != want[path] {
				t.Errorf("seed %d: %s is %.80q, want %.80q", seed, path, got[path], want[path])
			}
		}
		for path := range got {
			if _, ok := want[path]; !ok {
				t.Errorf("seed %d: %s exists", seed, path)
			}
		}
		if _, left := p.undo(undo.FromJournal(undo.Journaled(all)), undo.PlanOptions{}); len(left) > 0 {
			t.Fatalf("seed %d: left %v", seed, left)
		}
		p.same(was, fmt.Sprintf("seed %d", seed))
		if t.Failed() {
			return
		}
	}
}

// What isn't in a patch has a reason.
func TestDiffOmits(t *testing.T) {
	p := newPlace(t)
	p.write("secret", "a")
	p.write("mode", "a")
	p.write("large", "a")
	found := p.call(func() {
		p.write("secret", "b")
		p.write("large", strings.Repeat("x", 33<<20))
		if err := os.Chmod(p.path("mode"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	var got []string
	differ := undo.Differ{Store: p.store(), Dir: p.root, Secret: func(path string) bool { return path == p.path("secret") }}
	for _, c := range undo.Net(found.Changes) {
		one, err := differ.Patch(c)
		if one.Patch != "" || one.After != "" && err.Error() == "a secret file" {
			t.Errorf("%s: %+v", c.Path, one)
		}
		got = append(got, filepath.Base(c.Path)+": "+err.Error())
	}
	want := "large: over 32 MB, mode: mode 644 became 600, which isn't part of a patch, secret: a secret file"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
	if _, err := (undo.Differ{Store: p.store(), Dir: p.path("sub")}).Patch(found.Changes[0]); err == nil {
		t.Error("a file outside the directory is in the patch")
	}
}

// Later changes of the user stay if they are in other lines; otherwise the file isn't changed. Redo brings back what the undo
// replaced.
func TestMerged(t *testing.T) {
	p := newPlace(t)
	p.write("config", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	p.write("same", "1\n2\n3\n")
	found := p.call(func() {
		p.write("config", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
		p.write("same", "1\ntwo\n3\n")
	})
	found.Changes = append(found.Changes, p.call(func() { p.write("config", "one\n2\n3\n4\nfive\n6\n7\n8\n9\n") }).Changes...)
	user := "one\n2\n3\n4\nfive\n6\n7\n8\nnine\nten\n"
	p.write("config", user)
	p.write("same", "1\n2!\n3\n")
	done, left := p.undo(found.Changes, undo.PlanOptions{})
	if len(left) != 1 || left[0].Path != p.path("same") || !left[0].Changed {
		t.Errorf("left: %v", left)
	}
	is := func(name, want string) {
		t.Helper()
		if got, _ := os.ReadFile(p.path(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	is("config", "1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n")
	is("same", "1\n2!\n3\n")
	if _, left := p.undo(done, undo.PlanOptions{}); len(left) > 0 {
		t.Errorf("redo left: %v", left)
	}
	is("config", user)
}
