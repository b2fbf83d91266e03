package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// git diff printed changes of files above a workspace that is a subdirectory of its repository. Where the sandbox enforces
// reads it can't read them; elsewhere what may show them requires approval.
func TestWorkspaceInARepository(t *testing.T) {
	top := searchedFolder(t, "notes.txt canary", "app/README.md foo", "app/src/main.go foo")
	app := filepath.Join(top, "app")
	for want, lines := range map[tool.Verdict][]string{
		tool.Ask: {
			"git diff", "git diff HEAD", "git diff HEAD --", "git diff --cached", "git diff HEAD~1 HEAD", "git diff main..dev", "git diff -- :/notes.txt", "git diff -- ':(top)notes.txt'", "git diff -- ':!src'", "git diff ../notes.txt",
			"git diff-files -p", "git diff-index -p HEAD", "git status -vv", "git status -v", "git log -p", "git log -1 --cc", "git show", "git show HEAD", "git show HEAD:notes.txt", "git show HEAD:app/../notes.txt", "git cat-file -p HEAD:notes.txt",
			"git cat-file -p 0123456789abcdef", "git cat-file blob HEAD", "git stash show -p", "git grep foo -- ..", "git grep --untracked foo -- ..", "git grep foo HEAD:notes.txt", "cd src && git diff", "git -C src diff", "git diff && ls",
			"git diff README.md", "git diff HEAD README.md", "git log -p README.md", "git show HEAD:app/README.md", "git show HEAD:./README.md", "cd src && git diff main.go",
		},
		tool.Allow: {
			"git status", "git status -s", "git log", "git log --oneline -5", "git log --stat", "git show --stat", "git diff --stat", "git diff --name-only", "git diff -- README.md src",
			"git diff -- .", "git log -p -- src", "git blame README.md", "git grep foo -- src", "git ls-files", "git branch", "git cat-file -t HEAD",
		},
	} {
		for _, line := range lines {
			if got := judgeIn(app, line); got != want {
				t.Errorf("%s: %v, want %v", line, got, want)
			}
			if d, _ := judgeEveryday(app, line, permission.Rules{}, yes); d.Verdict != tool.Allow && want == tool.Allow || d.Verdict != tool.Allow && (line == "git diff" || line == "git log -p") {
				t.Errorf("%s, where reads are enforced: %v, want allow", line, d.Verdict)
			}
		}
	}
	for _, line := range []string{"git diff", "git show HEAD", "git log -p", "git show HEAD:app/README.md"} {
		if got := judgeIn(top, line); got != tool.Allow {
			t.Errorf("%s at the top of the repository: %v, want allow", line, got)
		}
	}
}

// cargo --version made directories in the home directory where cargo is rustup, and pyenv's python runs what a project
// chooses.
func TestVersionManagers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("bash", "-ec", `mkdir -p w usr/bin usr/lib/rustup/bin usr/lib/python opt/pyenv/shims home/.cargo/bin home/bin home/.local/share/mise/shims
		touch usr/bin/{make,node,gcc} usr/lib/rustup/bin/rustup usr/lib/python/python3.12 opt/pyenv/shims/ruby home/.cargo/bin/{rustup,perl} home/bin/{php,gcc,rg} home/.local/share/mise/shims/{jq,grep}
		ln -s ../lib/rustup/bin/rustup usr/bin/cargo; ln -s ../lib/python/python3.12 usr/bin/python3; ln -s ../../home/.cargo/bin/rustup usr/bin/rustc
		find . -type f -exec chmod +x {} +`)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := permission.World{
		Roots: []string{dir + "/w"}, Home: dir + "/home", System: []string{dir + "/usr", dir + "/opt"}, Disk: ondisk.New([]string{dir + "/w"}),
		Path: func() string {
			return dir + "/usr/bin:" + dir + "/opt/pyenv/shims:" + dir + "/home/.cargo/bin:" + dir + "/home/bin:" + dir + "/home/.local/share/mise/shims"
		},
	}.Patient()
	blind := w
	blind.Path = nil
	enforced := w
	enforced.Enforced = yes
	for line, want := range map[string][3]tool.Verdict{ // with a PATH, without one, where reads are enforced
		"make --version":                        {tool.Ask, tool.Ask, tool.Allow},
		"node -v":                               {tool.Ask, tool.Ask, tool.Allow},
		"python3 --version":                     {tool.Ask, tool.Ask, tool.Allow},
		"gcc --version":                         {tool.Ask, tool.Ask, tool.Allow}, // the first in PATH
		"cmake --version":                       {tool.Ask, tool.Ask, tool.Allow}, // there is none
		"cargo --version":                       {tool.Ask, tool.Ask, tool.Allow},
		"rustc --version":                       {tool.Ask, tool.Ask, tool.Allow},
		"ruby -v":                               {tool.Ask, tool.Ask, tool.Allow},
		"perl -v":                               {tool.Ask, tool.Ask, tool.Allow},
		"php -v":                                {tool.Ask, tool.Ask, tool.Allow},
		"rg foo a.txt":                          {tool.Allow, tool.Allow, tool.Allow}, // not by a version manager
		"jq . a.json":                           {tool.Ask, tool.Allow, tool.Allow},
		"cat a.txt | timeout 5 grep -c foo":     {tool.Ask, tool.Allow, tool.Allow},
		"find . -name '*.txt' | xargs grep foo": {tool.Ask, tool.Ask, tool.Allow},
		"/bin/cat a.txt":                        {tool.Allow, tool.Allow, tool.Allow},
		"ls --version":                          {tool.Allow, tool.Allow, tool.Allow},
	} {
		for i, world := range []permission.World{w, blind, enforced} {
			r := commandRequest(line)
			r.Confirm = tool.Command{Line: line, Directory: dir + "/w"}
			if d := permission.New(world, permission.Default).Judge(r); d.Verdict != want[i] {
				t.Errorf("%s (%d): %v, want %v: %s", line, i, d.Verdict, want[i], d.Why())
			}
		}
	}
}

// go writes counters of its use into the home directory, unless they are sent elsewhere.
func TestGoWritesNoCounters(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go here")
	}
	home := t.TempDir()
	for _, args := range [][]string{{"version"}, {"env", "GOPATH"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = t.TempDir(), shell.Environment([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
		if found, err := os.ReadDir(home); err != nil || len(found) > 0 {
			t.Errorf("go %v: wrote %v (%v)", args, found, err)
		}
	}
}
