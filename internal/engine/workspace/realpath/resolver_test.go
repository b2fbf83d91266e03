package realpath

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// A Resolver agrees with the function, whatever it resolved before.
func TestResolverAgreesWithResolve(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		plant(root, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "plan"))
		var r Resolver
		names := rapid.SliceOfN(rapid.StringMatching(`[abcd/.]{0,12}`), 1, 12).Draw(rt, "names")
		for _, name := range append(names, "a/b", "a/./b", "a/../b", "b/", "a//c") {
			name = root + "/" + name
			abs, exists, err := r.Resolve(name)
			wantAbs, wantExists, wantErr := Resolve(name)
			if abs != wantAbs || exists != wantExists || (err == nil) != (wantErr == nil) || errors.Is(err, ErrLoop) != errors.Is(wantErr, ErrLoop) {
				rt.Fatalf("%q: %q, %v, %v; want %q, %v, %v", name, abs, exists, err, wantAbs, wantExists, wantErr)
			}
		}
	})
}

// To a command /proc/self/cwd is its own directory: what it is to us says nothing about where it leads there.
func TestResolverOfAnotherProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc here")
	}
	link := t.TempDir() + "/link"
	if err := os.Symlink("/proc/self/cwd", link); err != nil {
		t.Fatal(err)
	}
	for name, own := range map[string]bool{
		"/proc/self/cwd": true, "/proc/self/cwd/x": true, "/proc/thread-self/cwd/x": true, "/proc/self/root/etc": true, "/dev/fd/../cwd/x": true,
		"/proc/self/cwd/.": true, "/proc/self/cwd/": true, link: true, link + "/x": true, "/proc/self/exe": true,
		"/proc/self": false, "/proc/self/": false, "/proc/self/status": false, "/dev/stdin": false, "/proc/self/fd/0": false, "/etc": false,
	} {
		var r Resolver
		for range 2 {
			if _, _, err := r.Resolve(name); errors.Is(err, ErrProcess) != own {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := Resolve(name); errors.Is(err, ErrProcess) {
			t.Errorf("%s: to ourselves it leads where it leads: %v", name, err)
		}
	}
}
