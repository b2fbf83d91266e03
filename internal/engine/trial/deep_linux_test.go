package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/serial"
)

// deepTool makes 1,000 nested directories with long names, a file in the last, and removes its permissions.
func deepTool() int {
	name := strings.Repeat("d", 200)
	for range 1000 {
		if err := errors.Join(unix.Mkdir(name, 0o700), unix.Chdir(name)); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if err := errors.Join(os.WriteFile("f", nil, 0o600), os.Chmod(".", 0)); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Paths that are too long for the system took minutes and hundreds of megabytes. They aren't kept, and are removed with the
// rest.
func TestDeepDirectories(t *testing.T) {
	t.Parallel()
	serial.Test(t)
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := opened(t, Options{Temp: []string{temp}})
	tr, out, e := b.try("mkdir new; cd new; " + testProgram(t) + " deep; cd " + temp + "; " + testProgram(t) + " deep")
	if out.Exit != 0 || e.TooLong != 1 || b.list(e) != "created new/ 0 file" {
		t.Fatalf("%+v %+v", out, e)
	}
	for _, path := range tr.found.strip {
		if len(path) >= unix.PathMax {
			t.Fatalf("a path of %d characters", len(path))
		}
	}
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := tr.Drop(); err != nil {
		t.Error(err)
	}
	depth := 0
	filepath.WalkDir(filepath.Join(b.root, "new"), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
		}
		depth++
		return nil
	})
	if depth < 10 || depth > unix.PathMax/200 {
		t.Errorf("%d directories were kept", depth)
	}
	// Removing such a tree that is in the workspace requires approval: nothing judged what is in it.
	deep := filepath.Join(b.root, "deep")
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(deep)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	name := strings.Repeat("d", 200)
	for range 100 {
		if err := unix.Mkdirat(int(dir.Fd()), name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := openDirAt(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = next
	}
	tr, out, e = b.try("rm -r deep")
	if out.Exit != 0 || len(e.Special) != 1 || e.Special[0].What != "too deep" {
		t.Errorf("%+v %+v", out, e)
	}
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Error(err)
	}
	tr.Drop()
	if _, err := os.Lstat(deep); err == nil {
		t.Error("not deleted")
	}
	if err := b.layers.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(b.layers.o.State); len(left) > 1 { // the lock
		t.Errorf("%v", left)
	}
}
