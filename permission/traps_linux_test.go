package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// Some commands read other files than their arguments name: zcat x opens x.gz if there is no x, nm opens a.out, git diff
// -- a b compares two directories if there is no repository, and a pattern may match a directory. Each of these printed a
// secret or a file outside the workspace without approval.
func TestFilesThatArgumentsDoNotName(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	r := bashlab.StartRunner(t)
	for _, h := range []struct{ setup, command string }{
		{"mkdir src1 && cp .env src1", "grep -rn KEY src?"},
		{"mkdir src1 && cp .env src1", "grep -r KEY src[1]"},
		{"mkdir src1 && cp .env src1", "cd src && grep -r KEY ../src[1-9]"},
		{"mkdir -p p/src1 && cp .env p/src1", "rg -. KEY p/src?"},
		{"mkdir -p p/src1 p/q && cp .env p/src1", "diff -rN p/src? p/q"},
		{"mkdir src1 && cp .env src1", `for d in src?; do grep -r KEY "$d"; done`},
		{"mkdir src1 && ln -s ../../notes.txt src1/x.go", "find src? -name '*.go' -exec cat {} +"},
		{"mkdir src1 && ln -s ../../notes.txt src1/x.go", `find src* -name '*.go' -exec grep -n a {} \;`},
		{"mkdir src1 && ln -s /home/me/private src1/p", "diff -rN src? src/deep"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../n.gz l.gz", "zcat l"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../n.gz l.Z", "gzip -dc l"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../../n.gz src/l-z", "cd src && gunzip -c l"},
		{"cd .. && zip -q n.zip notes.txt && ln -s ../n.zip app/l.zip", "unzip -p l"},
		{"cd .. && zip -q n.zip canary-4711.txt && ln -s ../n.zip app/l.ZIP", "zipinfo l"},
		{"cp /bin/true ../n && echo canary-4711 > ../c && objcopy --add-section .c=../c ../n && ln -s ../n a.out", "objdump -j .c -s"},
		{"rm -rf .git && mkdir empty", "git diff -- conf empty"},
		{"rm -rf .git && mkdir empty", "git diff empty conf --"},
		{"rm -rf .git && mkdir empty", "git diff conf -- empty"},
		{"mkdir other && mv conf docs other && cd src && git init -q", "cd src && git diff -- ../other/conf ../other/docs"},
		{"true", "rg -g '.{env}' KEY"},
		{"true", "rg -g '*{env}' KEY"},
		{"true", "rg --iglob '.{ENV}' KEY"},
		{"mkdir .hid && cp server.pem .hid && rm server.pem src/link src/lenv docs/away out && ln -s .hid vis", "rg -L canary"},
		{"true", "find . -name conf -exec grep -r a {} +"},
		{"true", "find . -name conf | xargs grep -rs a"},
		{"true", `for d in $(find . -name conf); do grep -r a $d; done`},
		{"true", `find . -name conf | while read -r d; do grep -r a "$d"; done`},
		{"true", "find . -name conf | xargs diff -rN docs"},
		{"mkdir .hid && mv server.pem .hid", "find . -name .hid | xargs rg canary"},
		{"echo 'canary-4711 [' > ../n && ln -s ../n .rgignore", "rg -g '*.go' foo"},
		{"echo 'canary-4711 [' > ../n && ln -s ../n .ignore", "rg foo src"},
		{"echo 'canary-4711 [' > ../n && ln -s ../../../n src/deep/.ignore", "rg -tgo foo src"},
		{"git add -f .env && git commit -qm x", "git show -L1,1:.env"},
	} {
		if lacks(h.setup + " && " + h.command) {
			continue
		}
		if e := r.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, Patient: true}); !e.PrintedSecret {
			t.Errorf("%s: prints no secret: %s", h.command, e.Output)
		}
		if e := r.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, IfApproved: true}); !e.NeedsApproval {
			t.Errorf("%s: runs without approval: %s", h.command, e.Harm())
		}
	}
	for _, h := range []struct{ setup, command string }{
		{"true", "git diff HEAD -- docs/guide.md"},
	} {
		if e := r.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, IfApproved: true}); e.NeedsApproval || e.Harm() != "" {
			t.Errorf("%s: needs approval: %s", h.command, e.Harm())
		}
	}
}

// lacks reports whether a line needs a program that isn't available.
func lacks(line string) bool {
	for _, name := range []string{"rg", "zip", "zipinfo", "unzip", "objcopy", "gzip"} {
		if !bashlab.Has(name) && strings.Contains(" "+line+" ", " "+name+" ") {
			return true
		}
	}
	return false
}

// If python is pyenv's, python --version prints the first line of .python-version if that isn't a version, and the file may
// be a link.
func TestVersionFile(t *testing.T) {
	t.Parallel()
	r := bashlab.StartRunner(t)
	if e := r.Run(t, bashlab.Command{Line: "python3 --version", Setup: []string{"ln -s /home/me/notes.txt .python-version"}, IfApproved: true}); !e.NeedsApproval {
		t.Errorf("a version behind a link: runs without approval: %s", e.Output)
	}
}

// hostile are settings of repositories that make git run a planted program. The policy asks about some of them; the
// environment of commands that run without approval disables the others.
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

// readOnlyGit are commands that need no approval in other repositories.
var readOnlyGit = []string{"git status", "git diff", "git log -p", "git show", "git ls-files -m", "git grep hello", "git blame README.md", "git describe --always", "git stash list", "git diff --cached", "git branch -a"}

// Hostile settings run nothing without approval.
func TestHostileRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || !bashlab.Has("git") {
		t.Skip("no git here, or not in the namespaces")
	}
	runner := bashlab.StartRunner(t)
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			dir := hostileRepository(t, h.setup)
			w := permission.World{Roots: []string{dir}, Home: "/home/me", Disk: ondisk.New(nil)}
			for _, line := range readOnlyGit {
				r := commandIn(dir, line)
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

// hostileRepository makes a repository like the one of a bashlab.Runner, for the policy. It writes settings and runs none of
// them.
func hostileRepository(t *testing.T, setup string) string {
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

// A file name that starts with - is a flag if a pattern expands to it. With -REe.|x.md in a directory, grep foo *.md followed
// a link out of the workspace without approval.
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
			t.Errorf("%s: prints no secret: %s", h.command, e.Output)
		}
		if e := runner.Run(t, bashlab.Command{Line: h.command, Setup: []string{h.setup}, IfApproved: true}); !e.NeedsApproval {
			t.Errorf("%s: runs without approval: %s", h.command, e.Harm())
		}
	}
}

// A shell and xargs split names that find prints at whitespace: home/me in a directory "x " becomes a word /home/me. If
// there is such a name, the line prints a file outside the workspace, so it needs approval.
func TestNamesWithWhitespace(t *testing.T) {
	t.Parallel()
	r := bashlab.StartRunner(t)
	blank := `mkdir -p 'src/x /home/me' && echo > 'src/x /home/me/notes.txt'`
	line := `mkdir -p $'src/x\n/home/me' && echo > $'src/x\n/home/me/notes.txt'`
	for _, o := range []bashlab.Command{
		{Setup: []string{blank}, Line: "find src -name '*.txt' | xargs cat"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | sort | xargs -d '\\n' cat"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | xargs -I{} cat {}"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | while read -r f; do cat \"$f\"; done"},
		{Setup: []string{blank}, Line: "for f in $(find src -name '*.txt'); do cat \"$f\"; done"},
		{Setup: []string{blank}, Line: "cat $(find src -name '*.txt')"},
		{Setup: []string{`mkdir -p 'src/x /home/me' && echo foo > 'src/x /home/me/notes.txt'`}, Line: "grep -rl foo src | xargs cat"},
	} {
		o.Restricted, o.Patient = true, true
		if e := r.Run(t, o); !e.PrintedSecret {
			t.Errorf("%s after %s: prints no secret: %s", o.Line, o.Setup, e.Output)
		}
		o.IfApproved = true
		if e := r.Run(t, o); !e.NeedsApproval {
			t.Errorf("%s after %s: runs without approval", o.Line, o.Setup)
		}
	}
}
