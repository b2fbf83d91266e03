package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	top := plant(t, "a/text", "a/dir/x", "b/text", "b/tool", "b/dir", "real/jq")
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b/text", "b/tool", "b/dir", "real/jq"} {
		if err := os.Chmod(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../real/jq", filepath.Join(top, "a/jq")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(top, "missing") + ":" + filepath.Join(top, "a") + ":" + filepath.Join(top, "b")
	for name, want := range map[string]string{"text": "b/text", "dir": "b/dir", "tool": "b/tool", "jq": "real/jq", "none": "", top + "/a/jq": "real/jq", top + "/a/text": ""} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		if got := patient(Options{}).Program(path, name); got != want {
			t.Errorf("Program(%s) = %q, want %q", name, got, want)
		}
	}
}
