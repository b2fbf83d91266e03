package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/internal/proc/sandbox"
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
