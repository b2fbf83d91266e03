package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestWriteFile(t *testing.T) {
	tooltest.Check(t, one(t, "write_file"),
		tooltest.Try{Args: `{"file_path":"$WORK/a","content":"new"}`, Files: map[string]string{"a": "old"}},
		tooltest.Try{Args: `{"file_path":"$WORK/a","content":"old"}`, Files: map[string]string{"a": "old"}},
		tooltest.Try{Args: `{"file_path":"$WORK/b/c/d","content":"new"}`},
		tooltest.Try{Args: `{"file_path":"$WORK/b","content":"new"}`, Files: map[string]string{"b/c": ""}, Fails: true},
	)
}

// prepared returns a call that was prepared, to be run later.
func prepared(t *testing.T, s *Set, name string, a any) *tool.Invocation {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range s.Tools() {
		if tl.Declaration().Name != name {
			continue
		}
		inv, err := tl.Prepare(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	t.Fatalf("no tool %s", name)
	return nil
}

// Between approval and write the file or its directory may change, vanish or appear. Nothing is lost.
func TestWriteFileAfterExternalChange(t *testing.T) {
	for name, c := range map[string]struct {
		first  string // content of the file at first; "" none
		change func(path string) error
		want   string // in the error
		after  string // content of the file then; "" none
	}{
		"changed":  {"old", func(p string) error { return os.WriteFile(p, []byte("mine"), 0o666) }, "changed on disk after this call was prepared", "mine"},
		"vanished": {"old", os.Remove, "was deleted after this call was prepared", ""},
		"appeared": {"", func(p string) error { return os.WriteFile(p, []byte("mine"), 0o666) }, "a file of this name appeared", "mine"},
		"folder": {"old", func(p string) error {
			os.Remove(p)
			return os.Mkdir(p, 0o777)
		}, "it is a directory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a")
			if c.first != "" {
				put(t, dir, map[string]string{"a": c.first})
			}
			s := open(t, dir)
			if c.first != "" {
				call(t, executor(s), "read_file", args{"absolute_path": path})
			}
			inv := prepared(t, s, "write_file", args{"file_path": path, "content": "new"})
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			_, err = inv.Run(t.Context(), &tool.Live{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
			if got, _ := os.ReadFile(path); string(got) != c.after {
				t.Errorf("the file holds %q, not %q", got, c.after)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A link that appears after the check is not followed.
func TestWriteFileFollowsNoNewLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, dir, map[string]string{"sub/x": ""})
	s := open(t, dir)
	inv := prepared(t, s, "write_file", args{"file_path": filepath.Join(dir, "sub/new"), "content": "new"})
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Skip(err)
	}
	if _, err := inv.Run(t.Context(), &tool.Live{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(filepath.Join(outside, "new")); err == nil {
		t.Error("written through a link that nobody saw")
	}
}

func TestWriteFileKeepsModeAndHardLinks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "old", "b": "old"})
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if err := os.Chmod(a, 0o754); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(b, c); err != nil {
		t.Skip(err)
	}
	x := executor(open(t, dir))
	for _, path := range []string{a, b} {
		call(t, x, "read_file", args{"absolute_path": path})
	}
	call(t, x, "write_file", args{"file_path": a, "content": "new"})
	if info, err := os.Stat(a); err != nil || info.Mode().Perm() != 0o754 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	o := call(t, x, "write_file", args{"file_path": b, "content": "new"})
	if !strings.Contains(o.Result.Text(), "written in place, because it has 2 hard links; its old content is kept in ") {
		t.Errorf("%+v", o)
	}
	if got, _ := os.ReadFile(c); string(got) != "new" {
		t.Errorf("the other name holds %q", got)
	}
}

// Files in node_modules can be links to a store outside the workspace, which other projects use.
func TestEditsDoNotChangeFilesOutsideThroughHardLinks(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	put(t, store, map[string]string{"a": "old", "b": "old"})
	x := executor(open(t, dir))
	for i, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		if err := os.Link(filepath.Join(store, name), path); err != nil || runtime.GOOS == "windows" {
			t.Skipf("hard links: %v", err)
		}
		call(t, x, "read_file", args{"absolute_path": path})
		o := call(t, x, []string{"write_file", "edit"}[i],
			[]args{{"file_path": path, "content": "new"}, {"file_path": path, "old_string": "old", "new_string": "new"}}[i])
		if want := "The file was replaced, because it has hard links outside the workspace"; !strings.Contains(o.Result.Text(), want) {
			t.Errorf("%+v", o)
		}
		if got, _ := os.ReadFile(path); string(got) != "new" {
			t.Errorf("%s has %q", name, got)
		}
		if got, _ := os.ReadFile(filepath.Join(store, name)); string(got) != "old" {
			t.Errorf("the file outside has %q", got)
		}
	}
}

func TestCancelledWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	inv := prepared(t, open(t, dir), "write_file", args{"file_path": filepath.Join(dir, "x/y"), "content": "new"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inv.Run(ctx, &tool.Live{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(filepath.Join(dir, "x")); err == nil {
		t.Error("a folder was made")
	}
}
