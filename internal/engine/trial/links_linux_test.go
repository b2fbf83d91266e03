package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// linkTree is a tree with a file of three names, and files of one.
func linkTree(t testing.TB, root string) {
	t.Helper()
	for _, dir := range []string{"dir/deep", "plain"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"dir/a": "several\n", "one": "one\n", "other": "other\n", "same": "one\n", "plain/p": "p\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"dir/deep/b", "c"} {
		if err := os.Link(filepath.Join(root, "dir/a"), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Names of one file stay names of one file, wherever the command made them.
// Keeping lost those in a directory that the command created or replaced, and
// those that took the place of another file.
func TestKeepLinks(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	for n, line := range []string{
		"mkdir new; ln one new/x",
		"mkdir -p new/x; ln one new/x/y; ln c new/x/z",
		"rm -r plain; mkdir plain; ln one plain/x; ln c plain/y",
		"rm -r plain; mkdir plain; ln one plain/x; chmod 600 one",
		"mkdir new; ln c new/x; echo more >> c",
		"ln -f one other",
		"ln -f one same",
		"ln -f one c",
		"ln -f one other; mkdir new; ln other new/x",
		"cp -al dir copy",
		"cp -al dir copy; chmod 500 copy",
		"mv dir moved",
		"mv dir/a plain/a",
		"mkdir new; mv c new/c",
		"mv dir plain/moved; mkdir dir",
		"mkdir new; mv dir new/dir; chmod 555 new/dir/deep",
		"echo x > x; mkdir new; ln x new/y; ln x z",
		"rm dir/a; ln one dir/a",
	} {
		real := filepath.Join(filepath.Dir(b.root), fmt.Sprintf("links%d", n))
		if err := os.MkdirAll(real, 0o755); err != nil {
			t.Fatal(err)
		}
		emptied(t, b.root)
		linkTree(t, real)
		linkTree(t, b.root)
		if _, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: real, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{real}}}); err != nil {
			t.Fatal(err)
		}
		tried, _, _ := b.try(line)
		if _, err := tried.Keep(context.Background(), nil); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		tried.Drop()
		if want, got := snapshot(t, real), snapshot(t, b.root); want != got {
			t.Errorf("%s\n%s", line, diff(want, got))
		}
	}
}

// If only the new name is kept and not the change of its file, it is a file with
// the new content.
func TestKeepLinkAlone(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	linkTree(t, b.root)
	tried, _, _ := b.try("mkdir new; ln c new/x; echo more >> c")
	if _, err := tried.Keep(context.Background(), func(path string) bool { return strings.Contains(path, "/new") }); err != nil {
		t.Fatal(err)
	}
	tried.Drop()
	if got := b.read("new/x"); got != "several\nmore\n" {
		t.Errorf("new/x is %q", got)
	}
	if got := b.read("c"); got != "several\n" {
		t.Errorf("c is %q", got)
	}
}

// A further name of a file in the workspace always requires approval: the command
// sees its names as separate files, and may have emptied one by the other.
func TestLinkRequiresApproval(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	for line, want := range map[string]bool{
		"ln one x":                              true,
		"mkdir new; ln one new/x":               true,
		"cp -al dir copy; cp -a dir/. copy":     true,
		"ln -f one other":                       true,
		"echo x > x; ln x y":                    false,
		"mkdir new; echo x > new/x; ln new/x y": false,
		"mv dir moved":                          false,
		"cp -r dir copy":                        false,
	} {
		emptied(t, b.root)
		linkTree(t, b.root)
		tried, _, effects := b.try(line)
		tried.Drop()
		if got := slices.ContainsFunc(effects.Special, func(s Special) bool { return s.What == "hard link" }); got != want {
			t.Errorf("%s: requires approval: %v, want %v: %v", line, got, want, effects.Special)
		}
	}
}

// A package store links its files into projects. Keeping wrote such a file in place, even if the command had replaced it, and
// so changed it in the store.
func TestKeepChangesNoNameOutside(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	store := filepath.Join(filepath.Dir(b.root), "store")
	for line, split := range map[string]bool{
		"echo evil > f":                              true,
		"sed -i s/several/evil/ f":                   true,
		"echo evil > new; mv new f":                  true,
		"chmod 777 f":                                true,
		"touch f":                                    true,
		"ln f g; echo evil > g":                      true,
		"echo evil >> c; chmod 600 dir/a; touch f":   true,
		"mv f moved; echo evil > moved":              false,
		"rm f; echo evil > f":                        true,
		"mkdir new; mv f new; echo evil > new/f":     false,
		"cp f g; echo evil > g":                      false,
		"rm -r dir; mkdir dir; echo evil > dir/f":    false,
		"ln c other2; echo evil > dir/a; rm f":       false,
		"truncate -s 0 f; ln -f one c; chmod 000 f":  true,
		"for n in f dir/a c; do echo e > $n; done":   true,
		"exec 3<>f; rm f; echo evil >&3; echo x > f": true,
	} {
		emptied(t, b.root)
		linkTree(t, b.root)
		os.RemoveAll(store)
		path, outside := filepath.Join(b.root, "f"), filepath.Join(store, "f")
		if err := errors.Join(os.Mkdir(store, 0o755), os.WriteFile(outside, []byte("several\n"), 0o644), os.Link(outside, path)); err != nil {
			t.Fatal(err)
		}
		before := snapshotFile(t, outside)
		tried, _, effects := b.try(line)
		kept, err := tried.Keep(context.Background(), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		tried.Drop()
		if after := snapshotFile(t, outside); after != before {
			t.Errorf("%s: the file outside changed\n%s", line, diff(before, after))
		}
		if got := slices.ContainsFunc(kept.Changes, func(c Change) bool { return c.Split }); got != split {
			t.Errorf("%s: split: %v, want %v: %+v", line, got, split, effects)
		}
	}
}

// snapshotFile returns the content, mode and time of a file.
func snapshotFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	info, err2 := os.Lstat(path)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%v %v", text, info.Mode(), info.ModTime())
}

// Undo restores a file whose other name is outside the workspace, and doesn't change that name either.
func TestUndoChangesNoNameOutside(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	for _, line := range []string{"echo evil > f", "chmod 700 f", "rm f", "sed -i s/several/evil/ f; chmod 600 f"} {
		emptied(t, b.root)
		linkTree(t, b.root)
		os.Remove(outside)
		if err := errors.Join(os.WriteFile(outside, []byte("several\n"), 0o644), os.Link(outside, filepath.Join(b.root, "f"))); err != nil {
			t.Fatal(err)
		}
		before := snapshotFile(t, outside)
		if problem := b.keepAndUndo(line, nil); problem != "" {
			t.Errorf("%s: %s", line, problem)
		}
		if after := snapshotFile(t, outside); after != before {
			t.Errorf("%s: the file outside changed\n%s", line, diff(before, after))
		}
	}
}
