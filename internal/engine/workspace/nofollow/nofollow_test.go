package nofollow

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real", "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("real", filepath.Join(dir, "link")), os.Symlink("file", filepath.Join(dir, "real", "alias"))); err != nil {
		t.Skipf("symlink: %v", err)
	}
	return dir
}

// The quick way and the portable one give the same answers.
func TestOpen(t *testing.T) {
	dir := directory(t)
	ways := map[string]func(string) (*os.File, error){
		"quick":    Open,
		"portable": func(p string) (*os.File, error) { return walkOpen(p, os.O_RDONLY) },
	}
	for way, open := range ways {
		f, err := open(filepath.Join(dir, "real", "file"))
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		content, _ := io.ReadAll(f)
		f.Close()
		if string(content) != "content" {
			t.Errorf("%s: read %q", way, content)
		}
		for _, through := range []string{"link/file", "real/alias"} {
			if _, err := open(filepath.Join(dir, through)); !errors.Is(err, ErrChanged) {
				t.Errorf("%s: %s: %v", way, through, err)
			}
		}
		if _, err := open(filepath.Join(dir, "real", "absent")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: absent: %v", way, err)
		}
	}
}

func TestOpenDir(t *testing.T) {
	dir := directory(t)
	for way, open := range map[string]func(string) (*os.Root, error){"quick": OpenDir, "portable": walkDir} {
		d, err := open(filepath.Join(dir, "real"))
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if _, err := d.Stat("sub"); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		d.Close()
		if _, err := open(filepath.Join(dir, "link", "sub")); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: through a link: %v", way, err)
		}
		if _, err := open(filepath.Join(dir, "real", "file")); err == nil {
			t.Errorf("%s: a file opens as a folder", way)
		}
	}
}

func TestLstat(t *testing.T) {
	dir := directory(t)
	real := filepath.Join(dir, "real")
	portable := func(p string) (fs.FileInfo, error) { return walkLstat(p, filepath.Dir(p), filepath.Base(p)) }
	for way, lstat := range map[string]func(string) (fs.FileInfo, error){"quick": Lstat, "portable": portable} {
		if info, err := lstat(filepath.Join(real, "alias")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s: a link: %v, %v", way, info, err)
		}
		if _, err := lstat(filepath.Join(dir, "link", "file")); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: below a link: %v", way, err)
		}
		if _, err := lstat(filepath.Join(real, "absent")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: absent: %v", way, err)
		}
	}
	if info, err := Lstat("/"); err != nil || !info.IsDir() {
		t.Errorf("the root: %v, %v", info, err)
	}
}
