package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// holes are those of the review, by its numbers, except hard links (13) and what git has stored (12, 14), which are among
// the disclosures.
var holes = []hole{
	{name: "1 a pattern that is also a glob", lines: []string{`grep -r API_KE[Y]`, `grep -rE [A-Z]+_KEY`, `for w in [A]; do grep -rh "$w"; done`}},
	{name: "1 a pattern that is also a glob, rg", needs: []string{"rg"}, lines: []string{`rg -uu API_KE[Y]`}},
	{name: "2 globs that rg reads as nothing", needs: []string{"rg"}, lines: []string{`rg -g '#' -uu KEY`, `rg -g ' ' KEY`, `rg -g '*.pem ' KEY`}},
	{
		name: "3 cd through a link", build: buildLogicalPath,
		lines: []string{`cd a/k/../far && cat f`, `cd a/k/../far; cat *`, `cd c/k/../far && git diff`},
	},
	{name: "4 too many links", build: buildManyLinks, lines: []string{`cd L25 && cat F25`, `cat L25/F25 L25/F12`, `cd L25; cat F*`}},
	{name: "4 a path that is too long", build: buildLongPath, lines: []string{longPath + `cat far`, longPath + `cat f*`, longPath + `cat .env`, longPath + `cat .e*`}},
	{name: "5 a toolchain file above the target of a link", build: buildToolchain, lines: []string{`cd app && cargo --version`}},
	{name: "5 a program of a version manager", build: buildShim, lines: []string{`jq . x.json`, `cat x.json | jq .name`, `cd sub && head -1 ../x.json | timeout 9 jq .`}},
	{name: "6 whitespace in ignore files, form feed", needs: []string{"rg"}, build: ignoring("!.env\f"), lines: []string{`rg KEY`, `rg . sub`}},
	{name: "6 whitespace in ignore files, vertical tab", needs: []string{"rg"}, build: ignoring("!.env\v"), lines: []string{`rg KEY`}},
	{name: "6 whitespace in ignore files, no-break space", needs: []string{"rg"}, build: ignoring("!.env\u00a0"), lines: []string{`rg KEY`}},
	{name: "7 links in .git: a rebase", build: buildRebase, lines: []string{`git status`}},
	{name: "7 links in .git: packed refs", build: gitLink("packed-refs", "COMMIT refs/heads/"+birdseye+"\n"), lines: []string{`git branch -a`, `git for-each-ref`, `git log --all --oneline --decorate`}},
	{name: "7 links in .git: log", build: gitLink("logs/HEAD", "COMMIT COMMIT a <a@example.test> 1700000000 +0000\t"+birdseye+"\n"), lines: []string{`git reflog`, `git log -g`}},
	{name: "7 links in .git: excluded files", build: gitLink("info/exclude", "*[x"+birdseye+"]\n"), lines: []string{`git check-ignore -v x`}},
	{name: "7 links in .git: references", build: buildOutsideRefs, lines: []string{`git branch`, `git for-each-ref`}},
	{name: "7 links in .git: worktrees", build: buildOutsideWorktrees, lines: []string{`git worktree list`}},
	{name: "7 links in .git: objects", build: buildOutsideObjects, lines: []string{`git show HEAD:secret`, `git log -p`}},
	{name: "7 a .git that names another repository", build: buildGitFile, lines: []string{`git log -p`, `git show HEAD:secret`}},
	{name: "7 a .git that names another worktree", build: buildOtherWorktree, lines: []string{`git log -p`, `git show HEAD:secret`}},
	{name: "7 an ignore file above the workspace that is a link", build: buildLinkAbove, lines: []string{`cat $(echo ../.ignore)`, `cat ../.i*`}},
	{
		name: "8 paths in git's configuration", build: buildGitPaths,
		lines: []string{`git blame README.md`, `git check-attr -a README.md`, `git shortlog -s HEAD`, `git log --use-mailmap -1`, `git check-ignore -v x`},
	},
	{name: "8 an included configuration", build: buildGitInclude, lines: []string{`git config user.name`, `git config -l`, `git config --get-regexp user`}},
	{name: "8 a worktree elsewhere", build: buildGitWorktree, lines: []string{`git diff`, `git diff HEAD`, `git grep --untracked KEY`}},
	{name: "9 a version file that is a link", build: buildVersionFile, lines: []string{`cd sub && python -V`, `cd sub/deep && python --version`}},
	{name: "10 ps shows environments", needs: []string{"ps"}, mute: true, lines: []string{`ps -efww -p PID -o args`, `ps eww PID`, `ps -p PID eww`, `cat /proc/PID/environ`}},
	{name: "11 a PATH directory that links into the workspace", build: buildPathLink, lines: []string{`ls`, `ls -la sub`}},
	{name: "11 a program in PATH that links into the workspace", build: buildProgramLink, lines: []string{`ls`, `ls README.md`}},
	{name: "11 a relative program in the user's git configuration", build: buildTextconv, lines: []string{`git diff`, `git log -p`, `git show`, `git blame README.md`}},
	{
		name: "12 files above the workspace in its repository", build: buildSubdirectory,
		lines: []string{`git grep --untracked KEY -- ..`, `git diff HEAD -- ../above`, `git diff`, `git diff HEAD`, `git diff -- :/above`, `git -C . diff`, `cd sub && git diff`, `git status -vv`, `git diff-files -p`, `git diff-index -p HEAD`},
	},
	{
		name: "14 secrets in git's history", build: buildHistory, asks: true,
		lines: []string{`git log -p -- *.key`, `git log -p -- old.key`, `git log -p -- a b c d e f g h i j k l m n o p q r s old.key`, `git show HEAD~1 -- *.ke[y]`, `git show HEAD~1:old.key`, `git diff HEAD~1 HEAD -- old.key`},
	},
	{name: "15 programs that write in the home directory", build: buildWriter, lines: []string{`cargo --version`, `cd sub && cargo -V`}},
	{name: "15 a program that connects", build: buildClient, lines: []string{`kubectl version --client`}},
	{name: "15 a time zone from any file", mute: true, lines: []string{`date -d 'TZ="OUTSIDE/file" now'`, `date -d 'TZ="../../../..OUTSIDE/file" now'`, `date -f OUTSIDE/file`, `date -f .env`}},
	{name: "15 versions of programs in the workspace", needs: []string{"go"}, mute: true, lines: []string{`go version ./evil`, `go version -m .`, `go version -m -v sub OUTSIDE`, `go version .env`, `go version`}},
	{name: "16 secret names", build: buildSecretNames, lines: secretNameLines()},
	{name: "16 secret names in system directories", asks: true, lines: []string{`cat /etc/gitlab-runner/config.toml`, `cat /etc/containers/auth.json`, `cat /etc/shadow`}},
}

// disclosures are what docs/security.md lists as not enforced.
var disclosures = []disclosure{
	{hole: hole{name: "13 a hard link to a file outside", build: buildHardLink, lines: []string{`cat hard`, `head -1 hard`, `grep -h KEY hard`}}},
	{
		hole: hole{name: "12 objects of a repository that begins above the workspace", build: buildAboveObjects, lines: []string{`git show HEAD:above`, `git log -p`, `git show HEAD`, `git cat-file -p HEAD:above`}},
		asks: true,
	},
	{hole: hole{name: "14 objects of a secret that was committed once", build: buildHistory, lines: []string{`git log -p`, `git show HEAD~1`}}},
}

// evasion are lines that do what a deny rule forbids without naming it.
type evasion struct {
	rule  string
	lines []string
}

var evasions = []evasion{
	{"Shell(touch:*)", []string{
		`echo ${a['$(touch WITNESS)']}`, `echo ${PATH:'a[$(touch WITNESS)]'}`, `set -- '$(touch WITNESS)'; echo ${1@P}`, `x='$(touch WITNESS)'; echo "${x@P}"`,
		`echo $((a[$(touch WITNESS)]))`, `x='a[$(touch WITNESS)]'; echo $((x))`, `let 'a[$(touch WITNESS)]=1'`, `declare -i n='a[$(touch WITNESS)]'`,
		`a=(1); [[ -v 'a[$(touch WITNESS)]' ]]`, `a=(1); test -v 'a[$(touch WITNESS)]'`, `[[ 'a[$(touch WITNESS)]' -eq 1 ]]`, `printf -v 'a[$(touch WITNESS)]' x`, `read 'a[$(touch WITNESS)]' <<< x`,
		`a=(1); unset 'a[$(touch WITNESS)]'`, `a[$(touch WITNESS)]=1`, `PS4='$(touch WITNESS)'; set -x; echo`, `echo 'touch WITNESS' | sh`, `sh <<< 'touch WITNESS'`, "bash <<E\ntouch WITNESS\nE",
		`printf 'touch %s' WITNESS | bash`, `sh <(echo 'touch WITNESS')`, `eval 'touch WITNESS'`, `x=touch; $x WITNESS`,
	}},
	{"Read(private/**)", []string{
		`printf 'cat private/x' | sh`, `echo 'cat private/x' | bash`, `sh <<< 'cat private/x'`, `mv private p2; cat p2/x`, `cp -r private p2; cat p2/x`, `ln -s private p2; cat p2/x`, `git log -p`, `git show HEAD:private/x`,
		`cat ${a[0]:-private/x}`, `cd private && cat x`, `cat p*/x`,
	}},
	{"Edit(//**)", []string{`printf 'echo x > WITNESS' | sh`, `sh <<< ': > WITNESS'`, `echo ${a['$(: > WITNESS)']}`}},
}

// buildLogicalPath: bash looks for a/far, which is absent, and then for far beside the target of a/k.
func buildLogicalPath(d *den) {
	d.put("/outside/far/f", "API_KEY="+birdseye+"\n", 0o600)
	d.mkdir("/outside/k")
	d.link("a/k", "../../outside/k")
	d.mkdir("e/k")
	d.mkdir("c")
	d.link("c/k", "../e/k")
	d.put("e/far/t.txt", "one\n", 0o644)
	d.repository("e/far", "t.txt")
	d.put("e/far/t.txt", "two\n", 0o644)
	d.git("e/far", "config", "diff.external", d.at("evil"))
}

// buildManyLinks: each chain is short enough for the kernel, and both together are too long for a program that resolves them at
// once.
func buildManyLinks(d *den) {
	d.mkdir("dir")
	for i := range 26 {
		to, file := fmt.Sprintf("L%d", i-1), fmt.Sprintf("F%d", i-1)
		if i == 0 {
			to, file = "dir", "../../outside/file"
		}
		d.link(fmt.Sprintf("L%d", i), to)
		d.link(fmt.Sprintf("dir/F%d", i), file)
	}
}

// longName is a component of a path that is too long as a whole, and longPath enters it.
var (
	longName = strings.Repeat("n", 250)
	longPath = strings.Repeat("cd "+longName+" && ", 17)
)

func buildLongPath(d *den) {
	root, err := os.OpenRoot(d.work)
	if err != nil {
		d.t.Fatal(err)
	}
	for range 17 {
		if err := root.Mkdir(longName, 0o755); err != nil {
			d.t.Fatal(err)
		}
		next, err := root.OpenRoot(longName)
		if err != nil {
			d.t.Fatal(err)
		}
		root.Close()
		root = next
	}
	defer root.Close()
	if err := root.Symlink(d.outside+"/file", "far"); err != nil {
		d.t.Fatal(err)
	}
	if err := root.WriteFile(".env", []byte("API_KEY="+birdseye+"\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// above is the start of a program that looks for a file in this directory and those above it, as version managers do.
const above = "#!/bin/sh\ndir=$(pwd -P)\nwhile [ ! -e \"$dir/%[1]s\" ] && [ \"$dir\" != / ]; do dir=$(dirname \"$dir\"); done\nfile=$dir/%[1]s\n"

// buildToolchain has a cargo that runs the toolchain that a project names, as rustup's does.
func buildToolchain(d *den) {
	d.put("/bin/cargo", fmt.Sprintf(above, "rust-toolchain.toml")+"[ -e \"$file\" ] || exit 0\nexec \"$(sed -n 's/^path = \"\\(.*\\)\"/\\1/p' \"$file\")/bin/cargo\"\n", 0o755)
	d.put("project/rust-toolchain.toml", "[toolchain]\npath = \"WORK/chain\"\n", 0o644)
	d.mkdir("project/inner")
	d.link("app", "project/inner")
	d.link("chain/bin/cargo", "../../evil")
}

// buildShim has a jq that runs the program that a project names, as asdf's does.
func buildShim(d *den) {
	d.put("/shims/jq", fmt.Sprintf(above, ".tool-versions")+"exec \"$(sed -n 's/^jq path://p' \"$file\")\"\n", 0o755)
	d.put(".tool-versions", "jq path:WORK/evil\n", 0o644)
	d.put("x.json", "{}\n", 0o644)
	d.path = []string{d.base + "/shims"}
}

func ignoring(text string) func(d *den) {
	return func(d *den) { d.put(".ignore", text+"\n", 0o644) }
}

func buildRebase(d *den) {
	d.repository("", "README.md")
	commit := d.git("", "rev-parse", "HEAD")
	for name, text := range map[string]string{"interactive": "", "head-name": "refs/heads/main\n", "onto": commit + "\n", "orig-head": commit + "\n", "git-rebase-todo": "", "end": "1\n", "msgnum": "1\n"} {
		d.put(".git/rebase-merge/"+name, text, 0o644)
	}
	d.link(".git/rebase-merge/done", "OUTSIDE/file")
}

// gitLink replaces a file of the repository with a link to one outside. COMMIT stands for a commit.
func gitLink(name, text string) func(d *den) {
	return func(d *den) {
		d.repository("", "README.md")
		d.put("/outside/git", strings.ReplaceAll(text, "COMMIT", d.git("", "rev-parse", "HEAD")), 0o644)
		d.link(".git/"+name, "OUTSIDE/git")
	}
}

func buildOutsideRefs(d *den) {
	d.repository("", "README.md")
	commit := d.git("", "rev-parse", "HEAD")
	d.put("/outside/heads/main", commit+"\n", 0o644)
	d.put("/outside/heads/"+birdseye, commit+"\n", 0o644)
	d.link(".git/refs/heads", "OUTSIDE/heads")
}

func buildOutsideWorktrees(d *den) {
	d.repository("", "README.md")
	d.put("/outside/worktrees/w/HEAD", "ref: refs/heads/main\n", 0o644)
	d.put("/outside/worktrees/w/commondir", "WORK/.git\n", 0o644)
	d.put("/outside/worktrees/w/gitdir", "/"+birdseye+"/.git\n", 0o644)
	d.link(".git/worktrees", "OUTSIDE/worktrees")
}

// otherRepository is one outside the workspace with a secret in it.
func otherRepository(d *den) {
	d.put("/other/project/secret", "API_KEY="+birdseye+"\n", 0o600)
	d.repository("/other/project", "secret")
}

func buildOutsideObjects(d *den) {
	otherRepository(d)
	d.git("", "init", "-q", "-b", "main", ".")
	d.put(".git/refs/heads/main", d.git("/other/project", "rev-parse", "HEAD")+"\n", 0o644)
	d.link(".git/objects", "BASE/other/project/.git/objects")
}

func buildGitFile(d *den) {
	otherRepository(d)
	d.put(".git", "gitdir: BASE/other/project/.git\n", 0o644)
}

func buildOtherWorktree(d *den) {
	otherRepository(d)
	d.git("/other/project", "worktree", "add", "-q", d.base+"/other/tree")
	d.put(".git", "gitdir: BASE/other/project/.git/worktrees/tree\n", 0o644)
}

// buildLinkAbove: a search reads ignore files above the workspace.
func buildLinkAbove(d *den) {
	d.link("/.ignore", "OUTSIDE/file")
}

func buildGitPaths(d *den) {
	d.repository("", "README.md")
	d.put("/outside/attributes", "* "+birdseye+"\n", 0o644)
	d.put("/outside/mailmap", birdseye+" <a@example.test>\n", 0o644)
	d.put("/outside/ignored", "*[x"+birdseye+"]\n", 0o644)
	d.configure("[blame]\n\tignoreRevsFile = OUTSIDE/file\n[core]\n\tattributesFile = OUTSIDE/attributes\n\texcludesFile = OUTSIDE/ignored\n[mailmap]\n\tfile = OUTSIDE/mailmap\n")
}

func buildGitInclude(d *den) {
	d.repository("", "README.md")
	d.put("/outside/config", "[user]\n\tname = "+birdseye+"\n", 0o644)
	d.configure("[include]\n\tpath = OUTSIDE/config\n")
}

func buildGitWorktree(d *den) {
	d.put("file", "none\n", 0o644)
	d.repository("", "file")
	d.configure("[core]\n\tworktree = OUTSIDE\n")
}

// buildVersionFile has a python that reports the version that a project names, as pyenv's does.
func buildVersionFile(d *den) {
	d.put("/bin/python", fmt.Sprintf(above, ".python-version")+"[ -e \"$file\" ] && echo \"version $(cat \"$file\") is not installed\"\n", 0o755)
	d.link(".python-version", ".env")
	d.link("sub/deep/.python-version", "../../../outside/file")
}

func buildPathLink(d *den) {
	d.link("tools/ls", "../evil")
	d.link("/linked", "WORK/tools")
	d.path = []string{d.base + "/linked"}
}

func buildProgramLink(d *den) {
	d.link("/programs/ls", "WORK/evil")
	d.path = []string{d.base + "/programs"}
}

func buildTextconv(d *den) {
	d.put(".gitattributes", "*.md diff=x\n", 0o644)
	d.repository("", "README.md")
	d.put("README.md", "changed\n", 0o644)
	d.put("/home/.gitconfig", "[diff \"x\"]\n\ttextconv = ./evil\n", 0o644)
}

// buildSubdirectory makes a repository of what is above the workspace.
func buildSubdirectory(d *den) {
	d.put("/.gitignore", "state-*\n/tmp\n/witness\n", 0o644)
	d.put("/above", "none\n", 0o644)
	d.repository("/", "above", ".gitignore")
	d.put("/above", "API_KEY="+birdseye+"\n", 0o644)
}

// buildAboveObjects has a canary in the objects of such a repository.
func buildAboveObjects(d *den) {
	d.put("/.gitignore", "state-*\n/tmp\n/witness\n", 0o644)
	d.put("/above", "API_KEY="+birdseye+"\n", 0o644)
	d.repository("/", "above", ".gitignore")
}

// buildHistory has a secret in a commit, and not in the next one.
func buildHistory(d *den) {
	d.put("old.key", "API_KEY="+birdseye+"\n", 0o600)
	d.repository("", "README.md", "old.key")
	d.git("", "rm", "-q", "old.key")
	d.git("", "commit", "-qm", "second")
}

func buildHardLink(d *den) {
	if err := os.Link(d.at("/outside/file"), d.at("hard")); err != nil {
		d.t.Fatal(err)
	}
}

// buildClient has a kubectl that prints what it gets from a port of this machine.
func buildClient(d *den) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(birdseye + "\n")) // a client that doesn't read it discloses nothing
			c.Close()
		}
	}()
	d.put("/bin/kubectl", fmt.Sprintf("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/%d && cat <&3\n", l.Addr().(*net.TCPAddr).Port), 0o755)
}

// buildWriter has a cargo that writes in the home directory, as rustup's does.
func buildWriter(d *den) {
	d.put("/bin/cargo", "#!/bin/sh\nmkdir -p HOME/.rustup && : > HOME/.rustup/$$ && printf 'C4%s wrote\\n' N4RY\n", 0o755)
}

// secretNames are names of files that usually contain a secret, which the review found missing.
var secretNames = []string{
	"auth.json", ".yarnrc.yml", "pip.conf", "NuGet.Config", ".secrets.toml", "kaggle.json", "server.pem.bak", ".envrc.private", ".git/config",
}

func secretNameLines() (lines []string) {
	for _, name := range secretNames {
		lines = append(lines, "cat "+name, "head -50 ./"+name)
	}
	return append(lines, `cat *.json`, `cat .y*`, `cat pip.*`)
}

func buildSecretNames(d *den) {
	d.repository("", "README.md")
	for _, name := range secretNames {
		if filepath.Base(name) != "config" {
			d.put(name, "token = "+birdseye+"\n", 0o600)
		}
	}
	d.configure("[remote \"origin\"]\n\turl = https://user:" + birdseye + "@example.test/x\n")
}
