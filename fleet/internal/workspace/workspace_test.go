package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

// repository makes one with two files, and returns its path.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "one\ntwo\n")
	write(t, filepath.Join(dir, "b.bin"), "\x00\x01")
	write(t, filepath.Join(dir, ".gitignore"), "ignored\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "1"}, {"tag", "v1"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *Dirs {
	t.Helper()
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A snapshot restores all changes in another clone: texts, bytes, new and removed files, commits; not ignored files.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	repo, d := repository(t), open(t)
	defer d.Close()
	for _, source := range []string{repo, ""} {
		w, err := d.Clone(t.Context(), source, "")
		if err != nil {
			t.Fatal(err)
		}
		if patch, err := w.Patch(t.Context()); err != nil || len(patch) > 0 {
			t.Fatalf("a fresh clone: %v, %s", err, patch)
		}
		write(t, filepath.Join(w.Dir, "a.txt"), "one\nthree\xe9\n")
		write(t, filepath.Join(w.Dir, "new file"), "new")
		write(t, filepath.Join(w.Dir, "ignored"), "x")
		write(t, filepath.Join(w.Dir, "c.bin"), "\x00\xff")
		_ = os.Remove(filepath.Join(w.Dir, "b.bin"))
		if source != "" {
			if _, err := git(t.Context(), w.Dir, nil, "commit", "--quiet", "-am", "2"); err != nil {
				t.Fatal(err)
			}
		}
		patch, err := w.Patch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes, err := w.Changes(t.Context())
		if text := changes.Summary(""); err != nil || !strings.Contains(text, "c.bin (new)") || !strings.Contains(text, "new file (new)") ||
			source != "" && (!strings.Contains(text, "b.bin (deleted)") || *changes.List[0].Lines != tool.LineCount{Added: 1, Removed: 1}) {
			t.Errorf("%v %q", err, text)
		}
		other, err := d.Clone(t.Context(), source, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Apply(t.Context(), patch); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"a.txt": "one\nthree\xe9\n", "new file": "new", "c.bin": "\x00\xff"} {
			if got, err := os.ReadFile(filepath.Join(other.Dir, name)); string(got) != want {
				t.Errorf("%s: %q %v", name, got, err)
			}
		}
		if _, err := os.Stat(filepath.Join(other.Dir, "b.bin")); err == nil {
			t.Error("b.bin is there")
		}
		again, err := other.Patch(t.Context())
		if err != nil || string(again) != string(patch) {
			t.Errorf("the patch of the restored clone differs: %v\n%s\n%s", err, patch, again)
		}
		if source != "" && strings.Contains(string(patch), "ignored") {
			t.Error("the patch has an ignored file")
		}
	}
}

// What an agent writes into the clone's git directory doesn't run when the worker reads the changes.
func TestGitDirectoryOfTheClone(t *testing.T) {
	t.Parallel()
	repo, d := repository(t), open(t)
	defer d.Close()
	w, err := d.Clone(t.Context(), repo, "v1")
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "ran")
	config := "[core]\n\tfsmonitor = touch " + mark + "\n[filter \"x\"]\n\tclean = touch " + mark + "\n[diff]\n\texternal = touch " + mark + "\n"
	write(t, filepath.Join(w.Dir, ".git", "config"), config)
	write(t, filepath.Join(w.Dir, ".gitattributes"), "* filter=x diff=x\n")
	write(t, filepath.Join(w.Dir, "a.txt"), "changed\n")
	if _, err := w.Patch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the clone's configuration ran")
	}
}

// A ref that doesn't exist, and a repository that doesn't, are reported by name. New commits are found.
func TestRefs(t *testing.T) {
	t.Parallel()
	repo, d := repository(t), open(t)
	defer d.Close()
	if _, err := d.Clone(t.Context(), repo, "nope"); err == nil || !strings.Contains(err.Error(), `has no ref "nope"`) {
		t.Error(err)
	}
	if _, err := d.Clone(t.Context(), filepath.Join(repo, "missing"), ""); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
	write(t, filepath.Join(repo, "later"), "x")
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "2"}} {
		if _, err := git(t.Context(), repo, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	w, err := d.Clone(t.Context(), repo, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "later")); err != nil {
		t.Error(err)
	}
}

// The next start removes what a killed process left behind, and leaves alone what is in use.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	repo, d := repository(t), open(t)
	w, err := d.Clone(t.Context(), repo, "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(d.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := os.Stat(w.Dir); err != nil {
		t.Errorf("a clone in use was removed: %v", err)
	}
	d.lock.Close() // killed
	// A program that another test starts at this moment has the lock until it runs.
	for began := time.Now(); ; {
		third, err := Open(d.Root)
		if err != nil {
			t.Fatal(err)
		}
		third.Close()
		if _, err := os.Stat(w.Dir); err != nil {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the clone of a killed process is left")
		}
	}
}

// Processes that start and end at the same time don't remove each other's directories.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				d, err := Open(root)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.MkdirTemp(d.own, "t"); err != nil {
					t.Error(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
