package edit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/edit"
)

// A patch, applied by git, turns the old files into the new ones, and back.
func TestGitPatchApplies(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("names with quotes and links")
	}
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a.txt", "with blank.txt", "dir/b.go", "tab\tand\nline", `quote"d`, "bytes\xff", "ü/ö.md", `back\slash`}
	for range soak.Count(20, 1000) {
		old, new := map[string]*edit.GitFile{}, map[string]*edit.GitFile{}
		for _, name := range names {
			old[name] = randomFile(r, nil)
			new[name] = old[name]
			if r.IntN(3) > 0 {
				new[name] = randomFile(r, old[name])
			}
		}
		patch := ""
		for _, name := range names {
			patch += edit.GitPatch(name, old[name], new[name])
		}
		if patch == "" {
			continue
		}
		dir := t.TempDir()
		writeTree(t, dir, old)
		gitApply(t, dir, patch)
		sameTree(t, dir, new, patch)
		gitApply(t, dir, patch, "-R")
		sameTree(t, dir, old, patch)
	}
}

// randomFile returns a file or nil; a similar one if there is an old text.
func randomFile(r *rand.Rand, old *edit.GitFile) *edit.GitFile {
	if r.IntN(5) == 0 {
		return nil
	}
	f := &edit.GitFile{Mode: edit.GitPlain}
	switch r.IntN(8) {
	case 0:
		return &edit.GitFile{Mode: edit.GitLink, Content: fmt.Appendf(nil, "to/%d", r.IntN(9))}
	case 1:
		f.Content = make([]byte, r.IntN(300))
		for i := range f.Content {
			f.Content[i] = byte(r.IntN(256))
		}
		f.Content = append(f.Content, 0)
		return f
	case 2:
		f.Mode = edit.GitExecutable
	case 3:
		return f // empty
	}
	var lines []string
	if old != nil && !edit.Binary(old.Content) && old.Mode != edit.GitLink {
		lines = strings.SplitAfter(string(old.Content), "\n")
	}
	for range r.IntN(12) {
		line := fmt.Sprintf("line %d\xe9 of \"text\"%s\n", r.IntN(50), []string{"", "\r", " "}[r.IntN(3)])
		lines = slices.Insert(lines, r.IntN(len(lines)+1), line)
	}
	for range r.IntN(4) {
		if len(lines) > 0 {
			i := r.IntN(len(lines))
			lines = slices.Delete(lines, i, i+1)
		}
	}
	text := strings.Join(lines, "")
	if r.IntN(3) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	f.Content = []byte(text)
	return f
}

func writeTree(t *testing.T, dir string, files map[string]*edit.GitFile) {
	t.Helper()
	for name, f := range files {
		if f == nil {
			continue
		}
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case f.Mode == edit.GitLink:
			err = os.Symlink(string(f.Content), path)
		default:
			err = os.WriteFile(path, f.Content, os.FileMode(f.Mode&0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func gitApply(t *testing.T, dir, patch string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"apply", "--whitespace=nowarn"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
}

func sameTree(t *testing.T, dir string, want map[string]*edit.GitFile, patch string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		f := want[name]
		if f == nil {
			if err == nil {
				t.Fatalf("%q exists\n%s", name, patch)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
		var content []byte
		is := uint32(edit.GitPlain)
		if info.Mode()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			content, is = []byte(target), edit.GitLink
		} else {
			content, _ = os.ReadFile(path)
			if info.Mode()&0o100 != 0 {
				is = edit.GitExecutable
			}
		}
		if string(content) != string(f.Content) || is != f.Mode {
			t.Fatalf("%q: mode %o %q, want %o %q\n%s", name, is, content, f.Mode, f.Content, patch)
		}
	}
}
