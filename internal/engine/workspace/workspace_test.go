package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree makes files ("a/b": content), directories ("a/") and links ("a -> b").
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, isLink := strings.Cut(e, " -> ")
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "$", dir), full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, roots ...string) *Workspace {
	t.Helper()
	w, err := Open(roots...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestResolve(t *testing.T) {
	dir := tree(t, "app/main.go", "app/sub/", "app-evil/x", "out/secret",
		"app/in -> sub", "app/evil -> ../app-evil", "app/abs -> $/out", "app/dangling -> ../out/new/file",
		"app/chain -> in", "link -> app")
	w := open(t, filepath.Join(dir, "link"), filepath.Join(dir, "out"))
	if w.Project() != filepath.Join(dir, "app") {
		t.Fatalf("project is %s, not the folder behind the link", w.Project())
	}
	type answer struct {
		Abs, Rel, Root string
		Exists         bool
	}
	for name, want := range map[string]answer{
		"app":                      {"app", ".", "app", true},
		"app/main.go":              {"app/main.go", "main.go", "app", true},
		"link/main.go":             {"app/main.go", "main.go", "app", true},
		"app/./sub/../main.go":     {"app/main.go", "main.go", "app", true},
		"app//main.go":             {"app/main.go", "main.go", "app", true},
		"app/new/deep/file":        {"app/new/deep/file", "new/deep/file", "app", false},
		"app/new/../main.go":       {"app/main.go", "main.go", "app", true},
		"app/in/new":               {"app/sub/new", "sub/new", "app", false},
		"app/chain/new":            {"app/sub/new", "sub/new", "app", false},
		"app/evil/x":               {"app-evil/x", "$/app-evil/x", "", true},
		"app/evil/../app/main.go":  {"app/main.go", "main.go", "app", true},
		"app-evil/x":               {"app-evil/x", "$/app-evil/x", "", true},
		"app/../app-evil":          {"app-evil", "$/app-evil", "", true},
		"app/abs/secret":           {"out/secret", "$/out/secret", "out", true},
		"app/dangling":             {"out/new/file", "$/out/new/file", "out", false},
		"absent/../app/new":        {"app/new", "new", "app", false},
		"app/../../../../../../..": {"/", "/", "", true},
	} {
		p, err := w.Resolve(dir + "/" + name)
		if err != nil {
			t.Errorf("Resolve(%s): %v", name, err)
			continue
		}
		got := answer{p.Abs, p.Rel, p.Root, p.Exists}
		if want.Abs != "/" {
			want.Abs = filepath.Join(dir, want.Abs)
		}
		want.Rel = strings.ReplaceAll(want.Rel, "$", dir)
		if want.Root != "" {
			want.Root = filepath.Join(dir, want.Root)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Resolve(%s):\n%s", name, d)
		}
	}
}

// Relative names are below the root that has them, and lead to the same place as absolute ones.
func TestResolveRelative(t *testing.T) {
	dir := tree(t, "a/x", "a/sub/", "b/only", "out", "a/link -> ../out")
	w := open(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	for name, want := range map[string]string{
		"x": "a/x", "./new": "a/new", "only": "b/only", "sub/../../x": "x", "../out": "out", "link": "out", ".": "a",
	} {
		got, err := w.Resolve(name)
		if err != nil || got.Abs != filepath.Join(dir, want) {
			t.Errorf("Resolve(%q): %s, %v, want %s", name, got.Abs, err, want)
		}
		if same, err := w.Resolve(got.Given); err != nil || same != got {
			t.Errorf("Resolve(%q) is %+v, and of its absolute name %+v, %v", name, got, same, err)
		}
	}
}

func TestResolveRefusesNames(t *testing.T) {
	dir := tree(t, "a/x", "b/only", "file", "l1 -> l2", "l2 -> l1")
	w := open(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	for _, name := range []string{"", "/a\x00b", "/a\nb", "/a\xff", "a\x00b"} {
		_, err := w.Resolve(name)
		if bad := (*NameError)(nil); !errors.As(err, &bad) {
			t.Errorf("Resolve(%q): %v", name, err)
		}
	}
	if _, err := w.Resolve(filepath.Join(dir, "l1")); !errors.Is(err, ErrLoop) {
		t.Errorf("a circle of links: %v", err)
	}
	if _, err := w.Resolve(filepath.Join(dir, "file", "x")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a parent that is a file: %v", err)
	}
	if _, err := w.Resolve("/" + strings.Repeat("x", 300)); err == nil {
		t.Error("a name that is too long was taken")
	}
}

func TestOpenRoots(t *testing.T) {
	dir := tree(t, "a/", "file", "l -> a")
	for _, roots := range [][]string{{}, {filepath.Join(dir, "absent")}, {filepath.Join(dir, "file")}} {
		if _, err := Open(roots...); err == nil {
			t.Errorf("Open(%q) works", roots)
		}
	}
	w := open(t, filepath.Join(dir, "a"), filepath.Join(dir, "l"))
	if got := w.Roots(); len(got) != 1 {
		t.Errorf("one folder under two names gives roots %q", got)
	}
}

func TestLinkAfterCheckIsRefused(t *testing.T) {
	dir := tree(t, "app/sub/file", "out/file")
	w := open(t, filepath.Join(dir, "app"))
	p, err := w.Resolve(filepath.Join(dir, "app/sub/file"))
	if err != nil {
		t.Fatal(err)
	}
	swap := func(name, target string) {
		t.Helper()
		if err := os.Rename(name, name+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(when string) {
		t.Helper()
		if f, err := p.Open(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: Open: %v, %v", when, f, err)
		}
		if _, err := p.Stat(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: Stat: %v", when, err)
		}
	}
	swap(p.Abs, filepath.Join(dir, "out/file"))
	refused("the file became a link")
	os.Remove(p.Abs)
	os.Rename(p.Abs+".old", p.Abs)
	swap(filepath.Dir(p.Abs), filepath.Join(dir, "out"))
	refused("the folder became a link")
	sub := Path{Abs: filepath.Dir(p.Abs)}
	if _, err := sub.ReadDir(); !errors.Is(err, ErrChanged) {
		t.Errorf("ReadDir through a new link: %v", err)
	}
}

func TestIrregularFilesAreNamedAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no FIFOs here")
	}
	dir := tree(t, "folder/")
	if err := mkfifo(filepath.Join(dir, "fifo")); err != nil {
		t.Skipf("mkfifo: %v", err)
	}
	w := open(t, dir)
	for name, kind := range map[string]string{
		filepath.Join(dir, "fifo"):   "a named pipe (FIFO)",
		filepath.Join(dir, "folder"): "a directory",
		"/dev/zero":                  "a character device",
	} {
		p, err := w.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := p.Open(); done <- err }()
		select {
		case err := <-done:
			var irregular *NotRegularError
			if !errors.As(err, &irregular) || irregular.Kind != kind {
				t.Errorf("open %s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("open %s hangs", name)
		}
	}
	if _, err := (Path{Abs: filepath.Join(dir, "absent")}).Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open an absent file: %v", err)
	}
}

func TestReadDirAndJoin(t *testing.T) {
	dir := tree(t, "app/b", "app/a/", "app/l -> /absent")
	w := open(t, filepath.Join(dir, "app"))
	p, err := w.Resolve(w.Project())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := p.ReadDir()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, p.Join(e.Name()).Rel)
	}
	if d := cmp.Diff([]string{"a", "b", "l"}, got); d != "" {
		t.Error(d)
	}
	if rel := p.Join("a").Join("x").Rel; rel != "a/x" {
		t.Errorf("Rel of a joined path is %q", rel)
	}
}

// A command can replace a directory below a root by a link. In the next session with the same directories, the target was a
// root too, so commands could write to it.
func TestNestedRootsAddNothing(t *testing.T) {
	dir := tree(t, "app/sub/", "app/away -> $/out", "out/", "other/", "lib/", "top/app/", "tmp/in/", "tmp/away -> $/out", "tmp/stays -> in",
		"mine -> app/away", "dots -> app/sub/../../out", "plain -> lib", "app/also -> sub")
	for _, c := range []struct {
		name, roots, want, skipped string
	}{
		{"nested", "app app/sub", "app", ""},
		{"nested, given first", "other app/sub app", "other app", ""},
		{"a link in the project", "app app/away", "app", "app/away"},
		{"a link in another added directory", "other app/away app", "other app", "app/away"},
		{"a link of the user to a link in the project", "app mine", "app", "mine"},
		{"through a directory of the project", "app dots", "app", "dots"},
		{"a link that stays in the project", "app app/also", "app", ""},
		{"a link of the user", "app plain", "app lib", ""},
		{"above the project", "top/app top", "top/app top", ""},
		{"a link in a writable directory", "app tmp/away", "app", "tmp/away"},
		{"in a writable directory", "app tmp/in", "app tmp/in", ""},
		{"a link that stays in a writable directory", "app tmp/stays", "app tmp/in", ""},
		{"twice", "app lib lib plain", "app lib", ""},
		{"the target is given too", "app app/away out", "app out", "app/away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var roots []string
			for _, name := range strings.Fields(c.roots) {
				roots = append(roots, filepath.Join(dir, name))
			}
			w, err := OpenBeside([]string{filepath.Join(dir, "tmp")}, roots...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(strings.Join(w.Roots(), " "), dir+"/", ""); got != c.want {
				t.Errorf("roots are %q, want %q", got, c.want)
			}
			if got := strings.Join(w.Skipped(), "\n"); c.skipped == "" && got != "" || !strings.HasPrefix(got, filepath.Join(dir, c.skipped)) && c.skipped != "" {
				t.Errorf("skipped %q, want %q", got, c.skipped)
			}
		})
	}
}
