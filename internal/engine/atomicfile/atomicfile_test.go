package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

func directoryOf(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path, content string) *Hash {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256([]byte(content))
	return &h
}

// holds fails unless the file has the content and its directory no leftovers.
func holds(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, content)
	}
	noTemps(t, filepath.Dir(path))
}

func noTemps(t *testing.T, dir string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if IsTemp(e.Name()) {
			t.Errorf("%s is left in %s", e.Name(), dir)
		}
	}
}

func TestWriteNew(t *testing.T) {
	dir := directoryOf(t)
	path := filepath.Join(dir, "a", "b", "new.txt")
	out, err := Write(path, []byte("hello"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Created || out.Path != path || len(out.Made) != 2 || out.InPlace != "" {
		t.Errorf("outcome %+v", out)
	}
	holds(t, path, "hello")

	var changed *ChangedError
	if _, err := Write(path, []byte("again"), Options{}); !errors.As(err, &changed) || changed.How != "has appeared" {
		t.Errorf("writing a new file over an old one: %v", err)
	}
	holds(t, path, "hello")
	if _, err := Write(filepath.Join(dir, "x"), nil, Options{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "x")); runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

func TestWriteReplaces(t *testing.T) {
	dir := directoryOf(t)
	path := filepath.Join(dir, "f")
	old := put(t, path, "old")
	if _, err := Write(path, []byte("new"), Options{Old: old}); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")

	var changed *ChangedError
	if _, err := Write(path, []byte("stale"), Options{Old: old}); !errors.As(err, &changed) || changed.How != "has changed" {
		t.Errorf("a stale write: %v", err)
	}
	holds(t, path, "new")
	if _, err := Write(filepath.Join(dir, "gone"), nil, Options{Old: old}); !errors.As(err, &changed) || changed.How != "is gone" {
		t.Errorf("a write over a file that is gone: %v", err)
	}
	if _, err := Write(filepath.Join(dir, "absent", "gone"), nil, Options{Old: old}); !errors.As(err, &changed) || changed.How != "is gone" {
		t.Errorf("a write over a file whose folder is gone: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder was made for a file that must exist")
	}
}

func TestWriteThroughLinks(t *testing.T) {
	dir := directoryOf(t)
	target := filepath.Join(dir, "target")
	link := filepath.Join(dir, "link")
	old := put(t, target, "old")
	if err := os.Symlink("target", link); err != nil {
		t.Skipf("symlink: %v", err)
	}
	out, err := Write(link, []byte("new"), Options{Old: old})
	if err != nil || out.Path != target {
		t.Fatalf("%+v, %v", out, err)
	}
	holds(t, target, "new")
	if info, _ := os.Lstat(link); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if _, err := Write(link, []byte("x"), Options{Old: old, Canonical: true}); !errors.Is(err, nofollow.ErrChanged) {
		t.Errorf("a link in a checked path: %v", err)
	}
	os.Symlink("absent/deep", filepath.Join(dir, "dangling"))
	if _, err := Write(filepath.Join(dir, "dangling"), []byte("made"), Options{}); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "absent", "deep"), "made")
}

func TestHardLinksStay(t *testing.T) {
	dir := directoryOf(t)
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	old := put(t, path, "old content")
	if err := os.Link(path, other); err != nil || runtime.GOOS == "windows" {
		t.Skipf("hard links: %v", err)
	}
	if _, err := Write(path, []byte("new"), Options{Old: old}); err == nil {
		t.Error("written in place without a backup folder")
	}
	holds(t, path, "old content")
	backup := filepath.Join(dir, "state", "backup")
	out, err := Write(path, []byte("new"), Options{Old: old, Backup: backup})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.InPlace, "2 hard links") {
		t.Errorf("outcome %+v", out)
	}
	holds(t, path, "new")
	holds(t, other, "new")
	holds(t, out.Backup, "old content")
}

// A package store links its files into projects: a write to such a file changed it in all of them.
func TestHardLinksOutsideTheRootsKeepTheirContent(t *testing.T) {
	dir := directoryOf(t)
	root, store := filepath.Join(dir, "root"), filepath.Join(dir, "store")
	path := filepath.Join(root, "f")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(store, 0o755)); err != nil {
		t.Fatal(err)
	}
	old := put(t, path, "old content")
	names := []string{filepath.Join(root, "inside"), filepath.Join(store, "outside")}
	for _, other := range names {
		if err := os.Link(path, other); err != nil || runtime.GOOS == "windows" {
			t.Skipf("hard links: %v", err)
		}
	}
	how := Options{Old: old, Backup: filepath.Join(dir, "backup"), Roots: []string{root}}
	out, err := Write(path, []byte("new"), how)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Split || out.InPlace != "" {
		t.Errorf("outcome %+v", out)
	}
	holds(t, path, "new")
	for _, other := range names {
		holds(t, other, "old content")
	}
	how.Roots = []string{root, store} // now all names are in the workspace
	if out, err = Write(names[0], []byte("new"), how); err != nil || out.Split || out.InPlace == "" {
		t.Errorf("outcome %+v, %v", out, err)
	}
	holds(t, names[1], "new")
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := directoryOf(t)
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	put(t, filepath.Join(dir, "file"), "x")
	var irregular *nofollow.NotRegularError
	if _, err := Write(filepath.Join(dir, "sub"), nil, Options{}); !errors.As(err, &irregular) {
		t.Errorf("write to a folder: %v", err)
	}
	if _, err := Write(filepath.Join(dir, "file", "below"), nil, Options{}); err == nil {
		t.Error("a file below a file was made")
	}
	if _, err := Write("relative", nil, Options{}); err == nil {
		t.Error("a relative path was taken")
	}
}

func TestFailureLeavesNoDirectories(t *testing.T) {
	dir := directoryOf(t)
	long := filepath.Join(dir, "a", "b", strings.Repeat("n", 300))
	if _, err := Write(long, nil, Options{}); err == nil {
		t.Fatal("a name that is too long was written")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestSweep(t *testing.T) {
	dir := directoryOf(t)
	dead := filepath.Join(dir, ".adze-999999999-0123456789abcdef.tmp")
	others := []string{".adze-notes.tmp", ".adze-12-short.tmp", "x.adze-999999999-0123456789abcdef.tmp"}
	put(t, dead, "half")
	for _, o := range others {
		put(t, filepath.Join(dir, o), "mine")
	}
	if _, err := Write(filepath.Join(dir, "f"), []byte("x"), Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dead); err == nil && runtime.GOOS != "windows" {
		t.Error("a dead writer's file is still there")
	}
	for _, o := range others {
		holds(t, filepath.Join(dir, o), "mine")
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"4KB", 4 << 10}, {"1MB", 1 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "f")
			content := bytes.Repeat([]byte("x"), size.n)
			if _, err := Write(path, content, Options{}); err != nil {
				b.Fatal(err)
			}
			hash := sha256.Sum256(content)
			b.SetBytes(int64(size.n))
			for b.Loop() {
				if _, err := Write(path, content, Options{Old: &hash}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
