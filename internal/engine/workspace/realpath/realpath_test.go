package realpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// FuzzResolve compares with the standard library in random trees of directories,
// files and links. Each pair of bytes makes an entry; the rest is the question.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 2, 3, 7, 130, 9, 4}, "a/b/../c")
	f.Add([]byte{2, 2, 3, 3, 2, 130}, "c/../d/c/x")
	f.Add([]byte{0, 0, 10, 66, 18, 67, 26, 12}, "a/../../b")
	f.Fuzz(func(t *testing.T, plan []byte, question string) {
		if len(plan) > 60 || len(question) > 200 || strings.ContainsAny(question, "\x00") {
			return
		}
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		plant(root, plan)
		name := root + "/" + question
		want, wantErr := filepath.EvalSymlinks(name)
		got, exists, err := Resolve(name)
		switch {
		case errors.Is(err, ErrLoop):
			return // the library follows more links than the kernel does
		case wantErr == nil && (err != nil || !exists || got != filepath.Clean(want)):
			t.Fatalf("%q: %q, %v, %v; want %q", name, got, exists, err, want)
		case wantErr != nil && err == nil && exists && !throughAbsent(name):
			t.Fatalf("%q: %q exists, but the library says %v", name, got, wantErr)
		case err == nil && got != filepath.Clean(got):
			t.Fatalf("%q: %q is not clean", name, got)
		}
		if err != nil {
			return
		}
		again, _, err := Resolve(got)
		if err != nil || again != got {
			t.Fatalf("%q: resolving %q again gives %q, %v", name, got, again, err)
		}
	})
}

// throughAbsent: a name that goes into something absent and back out, which
// the library and the kernel refuse and users mean as written.
func throughAbsent(name string) bool { return strings.Contains(name, "..") }

func plant(root string, plan []byte) {
	names := []string{"a", "b", "c", "d", "a/b", "a/c", "b/a", "c/d"}
	targets := []string{"a", "b", "../a", "..", ".", "absent", "a/../b", "d/absent", "./c", root, root + "/b/a", "../../.."}
	for i := 0; i+1 < len(plan); i += 2 {
		at := filepath.Join(root, names[int(plan[i])%len(names)])
		switch k := int(plan[i+1]); {
		case k < 64:
			os.MkdirAll(at, 0o755)
		case k < 80:
			os.WriteFile(at, nil, 0o644)
		default:
			os.Symlink(targets[k%len(targets)], at)
		}
	}
}

// caseless returns a disk that ignores case but keeps the spelling.
func caseless(files fstest.MapFS) disk {
	find := func(path string) (string, bool) {
		path = strings.TrimPrefix(path, "/")
		for name := range files {
			if strings.EqualFold(name, path) {
				return name, true
			}
		}
		return "", path == ""
	}
	lstat := func(path string) (fs.FileInfo, error) {
		name, ok := find(path)
		if !ok {
			return nil, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
		}
		if name == "" {
			name = "."
		}
		return files.Stat(name)
	}
	list := func(dir string) ([]string, error) {
		var out []string
		real, _ := find(dir)
		for name := range files {
			if d, base := filepath.Split(name); strings.TrimSuffix(d, "/") == real {
				out = append(out, base)
			}
		}
		return out, nil
	}
	same := func(a, b fs.FileInfo) bool { return a.Name() == b.Name() && a.ModTime().Equal(b.ModTime()) }
	return disk{lstat: lstat, readlink: os.Readlink, list: list, same: same}
}

func TestDisksThatIgnoreCase(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is written with forward slashes")
	}
	d := caseless(fstest.MapFS{
		"App":             {Mode: fs.ModeDir, ModTime: time.Unix(1, 0)},
		"App/Main.go":     {ModTime: time.Unix(2, 0)},
		"App/.git":        {Mode: fs.ModeDir, ModTime: time.Unix(3, 0)},
		"App/.git/config": {ModTime: time.Unix(4, 0)},
	})
	for name, want := range map[string]string{
		"/App/Main.go":     "/App/Main.go true",
		"/app/MAIN.GO":     "/App/Main.go true",
		"/APP/.GIT/Config": "/App/.git/config true",
		"/app/New.go":      "/App/New.go false",
	} {
		got, exists, err := d.canonical(name)
		if s := fmt.Sprint(got, " ", exists); err != nil || s != want {
			t.Errorf("%s: %s, %v; want %s", name, s, err, want)
		}
	}
}

// Windows finds a file by other names than the listed one. A deny rule on it was compared with the given name.
func TestOtherNamesOfWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is written with forward slashes")
	}
	d := caseless(fstest.MapFS{
		"Long secret.txt":  {ModTime: time.Unix(1, 0)},
		"123":              {Mode: fs.ModeDir, ModTime: time.Unix(2, 0)},
		"123/file.txt":     {ModTime: time.Unix(3, 0)},
		"backup~1":         {ModTime: time.Unix(4, 0)},
		"Program Files":    {Mode: fs.ModeDir, ModTime: time.Unix(5, 0)},
		"Program Files/Go": {ModTime: time.Unix(6, 0)},
	})
	short, lstat := map[string]string{"longse~1.txt": "Long secret.txt", "12~1": "123", "progra~1": "Program Files"}, d.lstat
	d.lstat = func(path string) (fs.FileInfo, error) {
		parts := strings.Split(path, "/")
		for i, part := range parts {
			if parts[i] = strings.TrimRight(part, ". "); short[strings.ToLower(parts[i])] != "" {
				parts[i] = short[strings.ToLower(parts[i])]
			}
		}
		return lstat(strings.Join(parts, "/"))
	}
	for name, want := range map[string]string{
		"/LONGSE~1.TXT": "/Long secret.txt true", "/longse~1.txt": "/Long secret.txt true", "/long SECRET.txt. .": "/Long secret.txt true",
		"/12~1/FILE.txt": "/123/file.txt true", "/123./file.txt": "/123/file.txt true", "/backup~1": "/backup~1 true",
		"/progra~1/GO": "/Program Files/Go true", "/other~1/x": "/other~1/x false",
	} {
		got, exists, err := d.canonical(name)
		if s := fmt.Sprint(got, " ", exists); err != nil || s != want {
			t.Errorf("%s: %s, %v; want %s", name, s, err, want)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "a", "b", "c")
	os.MkdirAll(dir, 0o755)
	name := filepath.Join(dir, "file.go")
	os.WriteFile(name, nil, 0o644)
	for b.Loop() {
		if _, _, err := Resolve(name); err != nil {
			b.Fatal(err)
		}
	}
}
