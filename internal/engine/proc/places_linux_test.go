package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

func isProtected(path string) bool { _, ok := names.Protected(path); return ok }

// A command in a workspace that is the home directory could create ~/.bashrc, which the next shell runs.
func TestHomeIsTheWorkspace(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	home := t.TempDir()
	os.MkdirAll(home+"/.cargo/bin", 0o755)
	base := places.NewBase([]string{home}, nil, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, isProtected)
	if len(base.Notes) != 1 || !strings.Contains(base.Notes[0], "The workspace contains your home directory") {
		t.Errorf("%q", base.Notes)
	}
	for _, line := range []string{"echo x > .bashrc", "mkdir .ssh", "mkdir -p .config/autostart", "mkdir -p .local/bin", "echo x > .gitconfig", "mkdir bin", "touch .cargo/bin/git",
		"mv .config c2 && mkdir -p .config/systemd", "ln -s x .profile"} {
		if o := run(t, r, Command{Line: line, Dir: home, Sandbox: base.Spec(sandbox.Workspace)}); o.Exit == 0 {
			t.Errorf("%s: it succeeds", line)
		} else if o.Suspect == "" || o.Remedy == "" {
			t.Errorf("%s: %s: it doesn't say what would allow it", line, o.Output)
		}
	}
	if o := run(t, r, Command{Line: "echo x > notes && mkdir -p .config/tool project", Dir: home, Sandbox: base.Spec(sandbox.Workspace)}); o.Exit != 0 {
		t.Error(o.Output)
	}
	r.Close()
	for _, name := range []string{".bashrc", ".ssh", "bin", ".config/autostart", ".local/bin"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
}

// In a workspace that is the root of the disk, a sandbox would protect nothing.
func TestRootIsTheWorkspace(t *testing.T) {
	r := opened(t, Options{})
	for _, mode := range []sandbox.Mode{sandbox.Workspace, sandbox.WorkspaceNetwork} {
		for _, spec := range []sandbox.Spec{{}, {BestEffort: true}, {Bubblewrap: true}} {
			spec.Mode, spec.Roots = mode, []string{"/"}
			_, err := r.Start(t.Context(), Command{Line: "true", Dir: "/", Sandbox: &spec})
			if err == nil || !strings.Contains(err.Error(), "the workspace is /, so everything would be writable") {
				t.Errorf("%+v: %v", spec, err)
			}
		}
	}
}

// gitPlaces are repositories whose git directory is outside of the workspace. Each script makes one in work, and names it.
var gitPlaces = []struct {
	name, script, dir string
	commits           bool
}{
	{"a directory that commands may write", "git init -q --separate-git-dir tmp/g work", "tmp/g", true},
	{"a worktree of a bare repository", "git init -q --bare bare && git -C bare commit-tree -m x $(git -C bare mktree </dev/null) > id && git -C bare branch b $(cat id) && git -C bare worktree add -q ../work b", "bare", true},
	{"a worktree of a bare repository in a directory that commands may write", "git init -q --bare tmp/bare && git -C tmp/bare commit-tree -m x $(git -C tmp/bare mktree </dev/null) > id && git -C tmp/bare branch b $(cat id) && git -C tmp/bare worktree add -q ../../work b", "tmp/bare", true},
	{"a directory elsewhere", "git init -q --separate-git-dir elsewhere work", "elsewhere", false},
	{"another repository's", "git init -q other && mkdir work && echo 'gitdir: '$PWD/other/.git > work/.git", "other/.git", false},
}

// Commits work if the git directory is where commands may write, and what runs code in it is protected. Otherwise it is
// read-only as a whole.
func TestGitDirectoryElsewhere(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	for _, c := range gitPlaces {
		t.Run(c.name, func(t *testing.T) {
			at, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			os.Mkdir(at+"/tmp", 0o755)
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + at + "/home", "TMPDIR=" + at + "/tmp", "GIT_CONFIG_SYSTEM=/dev/null",
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test"}
			cmd := exec.CommandContext(t.Context(), "bash", "-ec", c.script)
			cmd.Dir, cmd.Env = at, env
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, text)
			}
			base := places.NewBase([]string{at + "/work"}, []string{at + "/tmp"}, env, isProtected)
			do := func(line string) Outcome {
				spec := base.Spec(sandbox.Workspace)
				// The system's temp directory contains all of this.
				spec.Write = []string{at + "/tmp"}
				if strings.HasPrefix(c.dir, "bare") {
					spec.Write = append(spec.Write, at+"/bare")
				}
				return run(t, r, Command{Line: line, Dir: at + "/work", Env: env, Sandbox: spec})
			}
			if o := do("git commit -q --allow-empty -m second"); (o.Exit == 0) != c.commits || o.Exit != 0 && o.Remedy == "" {
				t.Errorf("commit: exit %d, %q: %s", o.Exit, o.Remedy, o.Output)
			}
			for _, line := range []string{"touch $G/hooks/pre-commit", "echo x >> $G/config", "mv $G $G.old", "mv $G/config $G/c", "git config a.b c", "echo gitdir: x > .git"} {
				if o := do("G=" + at + "/" + c.dir + "; " + line); o.Exit == 0 {
					t.Errorf("%s: it succeeds", line)
				}
			}
		})
	}
}

// A tree that is deleted and made again while sandboxes are prepared: what stays is protected in each of them.
func TestTreeDeletedMeanwhile(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(dir+"/stays/.vscode", 0o755)
	os.WriteFile(dir+"/stays/.vscode/tasks.json", []byte("mine"), 0o644)
	base := places.NewBase([]string{dir}, nil, nil, isProtected)
	stop := make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"a/b/.vscode", "a/.github/workflows", "c/.git/hooks"} {
				os.MkdirAll(filepath.Join(dir, name), 0o755)
				os.WriteFile(filepath.Join(dir, name, "tasks.json"), nil, 0o644)
			}
			os.RemoveAll(dir + "/a")
			os.RemoveAll(dir + "/c")
		}
	})
	ran := 0
	for tries := 0; ran < 40 && tries < 2000; tries++ {
		p, err := r.Start(t.Context(), Command{Line: "echo x > stays/.vscode/tasks.json", Dir: dir, Sandbox: base.Spec(sandbox.Workspace)})
		if err != nil { // a sandbox that can't be made is a denial
			if !strings.Contains(err.Error(), dir) {
				t.Error(err)
			}
			continue
		}
		if o := ended(t, p); o.Exit == 0 {
			t.Error("the protected file was written")
		}
		ran++
	}
	close(stop)
	done.Wait()
	if text, _ := os.ReadFile(dir + "/stays/.vscode/tasks.json"); string(text) != "mine" {
		t.Errorf("%q", text)
	}
	if o := run(t, r, Command{Line: "echo x > y", Dir: dir, Sandbox: base.Spec(sandbox.Workspace)}); o.Exit != 0 || ran == 0 {
		t.Errorf("%d commands ran; afterwards: %s", ran, o.Output)
	}
}
