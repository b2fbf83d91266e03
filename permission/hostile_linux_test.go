package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// hostile are repositories that make git run a planted program. known says that the policy sees it and asks; else the
// environment of unasked commands takes care.
var hostile = []struct {
	name  string
	setup string
	asks  bool
}{
	{"fsmonitor", `git config core.fsmonitor ./evil.sh`, true},
	{"fsmonitor behind its section", `printf '[core] fsmonitor = ./evil.sh\n' >> .git/config`, true},
	{"fsmonitor in capitals", `printf '[CORE]\n\tFSMonitor=./evil.sh\n' >> .git/config`, true},
	{"external diff", `echo x >> README.md; git config diff.external ./evil.sh`, true},
	{"diff driver", `echo x >> README.md; echo '*.md diff=evil' > .gitattributes; git config diff.evil.command ./evil.sh`, true},
	{"textconv", `echo x >> README.md; echo '*.md diff=evil' > .gitattributes; git config diff.evil.textconv ./evil.sh`, true},
	{"textconv in info", `echo x >> README.md; echo '*.md diff=evil' > .git/info/attributes; git config diff.evil.textconv ./evil.sh`, true},
	{"clean filter", `echo '*.md filter=evil' > .gitattributes; git config filter.evil.clean ./evil.sh; echo x >> README.md`, true},
	{"process filter", `echo '*.md filter=evil' > .gitattributes; git config filter.evil.process ./evil.sh; echo x >> README.md`, true},
	{"included", `printf '[core]\n\tfsmonitor=./evil.sh\n' > inc; git config include.path ../inc`, true},
	{"work tree's own settings", `git config extensions.worktreeConfig true; printf '[core]\n\tfsmonitor=./evil.sh\n' > .git/config.worktree`, true},
	{"signature program", `git config gpg.program ./evil.sh; git config log.showSignature true`, true},
	{"work tree elsewhere", `git config core.worktree /home/me`, true},
	{"git file", `mv .git g; echo 'gitdir: g' > .git; git config core.fsmonitor ./evil.sh`, true},
	{"hook", `cp evil.sh .git/hooks/post-index-change; touch README.md`, false},
	{"hooks path", `mkdir h; cp evil.sh h/post-index-change; git config core.hooksPath h; touch README.md`, false},
	{"submodule", `git init -q sub; git -C sub -c user.name=a -c user.email=b commit -q --allow-empty -m x; git -c advice.addEmbeddedRepo=false add sub; git commit -qm sub; git -C sub config core.fsmonitor "$PWD/evil.sh"; touch sub/x`, true},
	{"bare layout", `cp -r .git/. .; rm -rf .git; git config -f config core.bare false; git config -f config core.worktree .; git config -f config core.fsmonitor ./evil.sh`, true},
	{"pager", `git config core.pager ./evil.sh; git config pager.log ./evil.sh`, true},
}

var looking = []string{"git status", "git diff", "git log -p", "git show", "git ls-files -m", "git grep hello", "git blame README.md", "git describe --always", "git stash list", "git diff --cached", "git branch -a"}

// Hostile settings run nothing: the policy asks, or what runs unasked runs nothing of theirs.
func TestHostileRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || !bashlab.Has("git") {
		t.Skip("no git here, or not in the box")
	}
	runner := bashlab.StartRunner(t)
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			dir := copyOut(t, h.setup)
			w := permission.World{Roots: []string{dir}, Home: "/home/me", Disk: ondisk.New(nil)}.Patient()
			for _, line := range looking {
				r := commandRequest(line)
				r.Confirm = tool.Command{Line: line, Directory: dir}
				d := permission.New(w, permission.Default).Judge(r)
				if h.asks && d.Verdict == tool.Allow {
					t.Errorf("%s: allowed: %s", line, d.Reason)
				}
				if d.Verdict != tool.Allow {
					continue
				}
				if e := runner.Run(t, bashlab.Command{Line: line, Restricted: true, Setup: []string{h.setup}}); e.Harm() != "" {
					t.Errorf("%s: %s", line, e.Harm())
				}
			}
		})
	}
}

// copyOut makes a repository as it lies in the box, for the policy to look at: settings are written, nothing is run.
func copyOut(t *testing.T, setup string) string {
	t.Helper()
	dir := t.TempDir()
	dir, _ = filepath.EvalSymlinks(dir)
	for name, text := range bashlab.Files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(text, "#!") {
			text = "#!/bin/sh\nexit 1\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := "git init -q -b main && git config user.name me && git config user.email me@x && git add -A . && git commit -qm one\n" + setup
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// A file whose name begins with a minus is a flag to a command that is given it by a pattern. With -REe.|x.md in a
// folder, grep foo *.md read what a link in it led to, and ran unasked.
func TestHostileNames(t *testing.T) {
	runner := bashlab.StartRunner(t)
	deep := `touch 'src/deep/-REe.|x.md' && mkdir src/deep/d.md && ln -s /home/me src/deep/d.md/l`
	for _, h := range []struct{ setup, command string }{
		{deep, "cd src/deep && grep foo *.md"},
		{deep, "cd src/deep && grep -n foo *.md | cat"},
		{deep, "cd src/deep && grep foo [!b]*.md"},
		{deep, `cd src/deep && grep foo README.md ?REe* d.md`},
		{"touch ./-r", "grep canary ?r conf"},
		{"touch ./-r", `for f in ?r; do grep canary "$f" conf; done`},
		{"touch ./-h conf/-R", "cd conf && grep -s canary ?R ."},
		{"touch docs/-LR && mkdir docs/s && ln -s /home/me docs/s/l", "cd docs && ls ?LR s"},
	} {
		if e := runner.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, Patient: true}); !e.PrintedSecret {
			t.Errorf("%s: tells nothing: %s", h.command, e.Output)
		}
		if e := runner.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, IfApproved: true}); !e.NeedsApproval {
			t.Errorf("%s: not asked about: %s", h.command, e.Harm())
		}
	}
	if e := runner.Run(t, bashlab.Command{Line: "grep foo ./*.md", Setup: []string{"touch ./-r.md"}, IfApproved: true}); e.NeedsApproval || e.Harm() != "" {
		t.Errorf("behind ./ no name is a flag: %s", e.Harm())
	}
}

// cd /etc && cat /proc/self/cwd/shadow ran unasked: to us, who judged it, the link led into the workspace.
func TestLinksOfAProcess(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Symlink("/proc/self/cwd", filepath.Join(dir, "here")); err != nil {
		t.Fatal(err)
	}
	w := permission.World{Roots: []string{dir}, Home: "/home/me", Disk: ondisk.New(nil)}.Patient()
	for _, line := range []string{
		"cd /etc && cat /proc/self/cwd/shadow", "cd /etc && cat /dev/fd/../cwd/shadow", "cd /etc; head < /proc/thread-self/cwd/shadow",
		"cd /etc && cat " + dir + "/here/shadow", "cd /etc && grep root /proc/self/cwd/shado*", "cd /usr && ls /proc/self/cwd", "cd /proc/self/cwd && ls",
		"f=/proc/self/cwd; cd /etc; cat $f/shadow", "for f in /proc/self/cwd/a; do cat < $f; done", "git -C /proc/self/cwd status",
	} {
		r := commandRequest(line)
		r.Confirm = tool.Command{Line: line, Directory: dir}
		if permission.New(w, permission.Default).Judge(r).Verdict == tool.Allow {
			t.Errorf("not asked about: %s", line)
		}
	}
}
