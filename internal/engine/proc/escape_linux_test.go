package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// escapes are attacks of several steps. Each step is its own command in a
// workspace sandbox; the next one must not be able to do more than the first.
// $OUT is a directory outside; check succeeds if the attack did. All succeed
// without a sandbox.
var escapes = []struct {
	name, setup string
	dir         string   // of the workspace, in $BASE; "": repo
	env         []string // variables for Adze and commands
	steps       []string
	check       string
	only        string // the only backend that it is tried with, if it takes long
}{
	{name: "commondir of a linked worktree", setup: "git -C repo worktree add -q ../linked", dir: "linked",
		steps: []string{`echo / > $(git rev-parse --git-dir)/commondir`, `touch $OUT/x`}, check: "test -e $OUT/x"},
	{name: "separate git directory", setup: "mkdir apart; cd apart; git init -q --separate-git-dir .repo .", dir: "apart",
		steps: []string{`echo $PWD/.git > .repo/gitdir; echo / > .repo/commondir`, `touch $OUT/x`}, check: "test -e $OUT/x"},
	{name: "config of a separate git directory", setup: "mkdir apart; cd apart; git init -q --separate-git-dir .repo .", dir: "apart",
		steps: []string{`rm -f .repo/HEAD`, `echo '[core] fsmonitor=evil' >> .repo/config; mkdir -p .repo/hooks; echo evil > .repo/hooks/pre-commit`}, check: "grep -rq evil apart/.repo/config apart/.repo/hooks"},
	{name: "TMPDIR that becomes a link", setup: "mkdir repo/tmp", env: []string{"TMPDIR=$BASE/repo/tmp", "GOCACHE=$BASE/repo/tmp"},
		steps: []string{`rm -rf tmp; ln -s / tmp`, `touch $OUT/x`}, check: "test -e $OUT/x"},
	{name: "a cache that becomes a link", setup: "mkdir -p cache/go", env: []string{"XDG_CACHE_HOME=$BASE/cache", "GOCACHE=$BASE/cache/go"},
		steps: []string{`rm -rf $BASE/cache/go; ln -s / $BASE/cache/go`, `touch $OUT/x`}, check: "test -e $OUT/x"},
	{name: "a cache in the home directory", dir: "home", setup: "mkdir home", env: []string{"HOME=$BASE/home"},
		steps: []string{`mkdir -p .bundle; ln -s / .bundle/cache`, `touch $OUT/x`}, check: "test -e $OUT/x"},
	{name: "many files", setup: "touch repo/f{1..6000}", only: "built-in",
		steps: []string{`mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`},
		check: "test -e repo/.git/hooks/pre-commit"},
	{name: "deep workflow", setup: "mkdir -p repo/a/b/c/d/e/.github/workflows", steps: []string{`echo evil > a/b/c/d/e/.github/workflows/ci.yml`}, check: "test -e repo/a/b/c/d/e/.github/workflows/ci.yml"},
	{name: "config.worktree", setup: "git -C repo config extensions.worktreeConfig true",
		steps: []string{`git config --worktree core.fsmonitor evil`}, check: "git -C repo config --worktree --get core.fsmonitor | grep evil"},
	{name: "commondir of another worktree", setup: "git -C repo worktree add -q ../linked",
		steps: []string{`echo ../../../evil > .git/worktrees/linked/commondir`}, check: "grep evil repo/.git/worktrees/linked/commondir"},
	{name: "config.worktree of another worktree", setup: "git -C repo worktree add -q ../linked",
		steps: []string{`echo '[core] fsmonitor=evil' > .git/worktrees/linked/config.worktree`}, check: "grep evil repo/.git/worktrees/linked/config.worktree"},
	{name: "commondir of a module", setup: "mkdir -p repo/.git/modules; git init -q --bare repo/.git/modules/m",
		steps: []string{`rm -f .git/modules/m/HEAD`, `echo /evil > .git/modules/m/commondir`}, check: "test -e repo/.git/modules/m/commondir"},
	{name: "config of a module without HEAD", setup: "mkdir -p repo/.git/modules; git init -q --bare repo/.git/modules/m",
		steps: []string{`rm -f .git/modules/m/HEAD`, `echo '[core] fsmonitor=evil' >> .git/modules/m/config`}, check: "grep evil repo/.git/modules/m/config"},
	{name: "modules three deep", setup: "mkdir -p repo/.git/modules/a/b/modules; git init -q --bare repo/.git/modules/a/b; git init -q --bare repo/.git/modules/a/b/modules/c",
		steps: []string{`echo '[core] fsmonitor=evil' >> .git/modules/a/b/modules/c/config`}, check: "grep evil repo/.git/modules/a/b/modules/c/config"},
	{name: "commondir of the repository", steps: []string{`echo ../evil > .git/commondir`}, check: "grep evil repo/.git/commondir"},
	{name: "mode of a protected directory", setup: "mkdir -p repo/.github/workflows", steps: []string{`chmod 000 .github`, `chmod 755 .github; echo evil > .github/workflows/ci.yml`},
		check: "chmod 755 repo/.github; test -e repo/.github/workflows/ci.yml"},
	{name: "mode of .git", steps: []string{`chmod 000 .git`, `chmod 755 .git; echo evil > .git/hooks/pre-commit`}, check: "chmod 755 repo/.git; test -e repo/.git/hooks/pre-commit"},
	{name: "HEAD moved away", steps: []string{`mv .git/HEAD .git/H`, `echo '[core] fsmonitor=evil' >> .git/config; mv .git/H .git/HEAD`}, check: "grep evil repo/.git/config"},
	{name: "dangling link", setup: "ln -s conf repo/.adze", steps: []string{`mkdir conf; echo evil > conf/settings.json`}, check: "test -e repo/conf/settings.json"},
	{name: "absent settings", steps: []string{`mkdir .agents; echo evil > .agents/x`, `echo evil > .mcp.json`}, check: "test -e repo/.agents/x -o -s repo/.mcp.json"},
	{name: "hooksPath", setup: "git -C repo config core.hooksPath tools/hooks", steps: []string{`mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit`}, check: "test -e repo/tools/hooks/pre-commit"},
	{name: "included settings", setup: "git -C repo config include.path ../team.gitconfig; touch repo/team.gitconfig", steps: []string{`echo '[core] fsmonitor=evil' > team.gitconfig`}, check: "grep evil repo/team.gitconfig"},
	{name: "attributes", steps: []string{`mkdir -p .git/info; echo '* diff=evil' > .git/info/attributes`}, check: "grep evil repo/.git/info/attributes"},
	{name: "a nested repository", setup: "git init -q repo/deep/er/nested", steps: []string{`git -C deep/er/nested config core.fsmonitor evil`}, check: "grep evil repo/deep/er/nested/.git/config"},
	{name: "the workspace replaced", setup: "mkdir repo/sub", dir: "repo/sub", steps: []string{`cd .. && mv sub old && ln -s $OUT sub`, `touch $OUT/x`}, check: "test -e $OUT/x"},
}

func TestEscapes(t *testing.T) {
	soak.Skip(t, 78, 100)
	needsLayers(t)
	t.Parallel()
	first := newEscape(t, "", escapeRepo)
	for i, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			for _, backend := range []string{"off", "built-in", "bubblewrap"} {
				if e.only != "" && e.only != backend {
					continue
				}
				if backend == "bubblewrap" && e.only == "" && i%3 != 0 && soak.Share() < 1 {
					continue // the same box by another program
				}
				sandboxed := backend != "off"
				w := newEscape(t, first.base, e.setup)
				dir := filepath.Join(w.base, "repo")
				if e.dir != "" {
					dir = filepath.Join(w.base, e.dir)
				}
				env := append(os.Environ(), w.expand(append(e.env, "BASE="+w.base, "OUT="+w.base+"/outside"))...)
				for _, step := range e.steps {
					c := Command{Line: step, Dir: dir, Env: env, Timeout: time.Minute}
					if sandboxed {
						c.Sandbox = places.For(sandbox.Workspace, []string{dir}, nil, env, func(path string) bool { _, ok := names.Protected(path); return ok })
						c.Sandbox.Bubblewrap = backend == "bubblewrap"
					}
					r := Open(Options{Helper: helper})
					r.Run(t.Context(), c) // that it isn't started is as good
					r.Close()
				}
				err := w.shell(e.check)
				switch escaped := err == nil; {
				case !sandboxed && !escaped:
					t.Errorf("proves nothing: without a sandbox %s fails: %v", e.check, err)
				case sandboxed && escaped:
					t.Errorf("%s: it succeeded: %s", backend, e.check)
				}
			}
		})
	}
}

type escape struct {
	t    *testing.T
	base string
}

// escapeRepo makes the repository of a workspace, and a directory outside.
const escapeRepo = "mkdir outside; git init -q repo; git -C repo commit -q --allow-empty -m first; "

// newEscape returns a copy of a directory, with its own setup.
func newEscape(t *testing.T, from, setup string) *escape {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp(here, "escape-") // not in a temp directory, which sandboxes write to
	if err != nil || strings.HasPrefix(base, os.TempDir()) {
		t.Skipf("no directory outside of what sandboxes may write: %v", err)
	}
	t.Cleanup(func() {
		if os.RemoveAll(base) != nil {
			exec.Command("chmod", "-R", "u+rwX", base).Run()
			os.RemoveAll(base)
		}
	})
	w := &escape{t, base}
	if from != "" {
		if err := os.CopyFS(base, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if setup != "" {
		if err := w.shell(setup); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *escape) shell(line string) error {
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = w.base
	cmd.Env = append(os.Environ(), "BASE="+w.base, "OUT="+w.base+"/outside", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Logf("%s: %v %s", line, err, out)
	}
	return err
}

func (w *escape) expand(env []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		out[i] = strings.ReplaceAll(kv, "$BASE", w.base)
	}
	return out
}
