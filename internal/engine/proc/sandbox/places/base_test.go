package places

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"

	"github.com/google/go-cmp/cmp"
)

func TestProtected(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		".git/HEAD", ".git/config", ".git/modules/m/config", "sub/.git/HEAD", ".github/workflows/ci.yml", "a/b/.envrc",
		"a/b/c/.envrc", "node_modules/x/.envrc", "main.go", ".qwen/settings.json",
	} {
		path := filepath.Join(root, file)
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, nil, 0o644)
	}
	names := func(path string) bool {
		return filepath.Base(path) == ".envrc" || filepath.Base(path) == "workflows" || strings.Contains(path, ".qwen")
	}
	var got []string
	for _, p := range Protected([]string{root}, names) {
		rel, _ := filepath.Rel(root, p)
		got = append(got, filepath.ToSlash(rel))
	}
	want := []string{".adze", ".agents"}
	for _, dir := range []string{".git", ".git/modules/m", "sub/.git"} {
		for _, name := range []string{"commondir", "config", "config.worktree", "hooks", "info/attributes", "objects/info/alternates"} {
			want = append(want, dir+"/"+name)
		}
	}
	want = append(want, ".github/workflows", ".mcp.json", ".qwen", "a/b/.envrc", "a/b/c/.envrc")
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A worktree's git directory is elsewhere. A mere claim of that isn't trusted.
func TestLinkedGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", base, "-c", "user.name=a", "-c", "user.email=a@example.test"}, args...)...)
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, text)
		}
	}
	git("init", "-q", "main")
	git("-C", "main", "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", "main", "worktree", "add", "-q", "../linked")
	if got := outsideGit(base + "/linked"); !slices.Equal(got, []string{filepath.Join(base, "main/.git")}) {
		t.Errorf("got %q", got)
	}
	spec := For(sandbox.Workspace, []string{base + "/linked"}, nil, nil, nil)
	if !strings.Contains(strings.Join(spec.Protect, " "), base+"/main/.git/hooks") {
		t.Errorf("protected are %q", spec.Protect)
	}
	os.MkdirAll(base+"/evil", 0o755)
	os.WriteFile(base+"/evil/.git", []byte("gitdir: "+base+"/main/.git/worktrees/linked\n"), 0o644)
	if got := outsideGit(base + "/evil"); got != nil {
		t.Errorf("%q is given to a folder that is not its worktree", got)
	}
}
