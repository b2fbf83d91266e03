package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// holes are commands that printed a secret or a file outside the workspace, or ran a program of it, without approval:
// what was set up in the workspace, the commands, and similar ones that must stay free.
var holes = []struct {
	setup       string
	asked, free []string
}{
	{ // a pattern without quotes that no file has the name of is the text to look for
		"", []string{
			"grep -r API_KE[Y]", "grep -rE [A-Z]+_KEY", "rg -uu API_KE[Y]", `for w in [A]; do grep -rh "$w"; done`, "grep -rh A*Y", "rg -. KE?", "egrep -r [K]EY", "cd src && cd .. && grep -r KE[Y]",
		}, []string{"grep foo [R]EADME.md", "grep -r KE[Y] src", "rg KE[Y] src"},
	},
	{ // to rg -g '#' is a comment, and whitespace at the end is nothing
		"touch server.pem id_rsa", []string{"rg -g '#' -uu X", "rg -g ' ' X", "rg -g '*.pem ' X", "rg -g '#x' X", "rg --glob='*.go\t' X", "rg --iglob '#' X"}, []string{"rg -g '*.go' X src", `rg -g '\#' X src`},
	},
	{ // cd goes through the link if a/evil isn't there
		"mkdir -p b/dir b/evil/src a && ln -s ../b/dir a/k && ln -s b/dir l && echo canary > ../f && ln -s ../../../f b/evil/f && git init -q b/evil && git -C b/evil config diff.external ./x",
		[]string{"cd a/k/../evil && cat f", "cd a/k/../evil && git diff", "cd l && cd ../evil && cat f", "cd a/k/../evil/src/.. && cat f", "cd a/k/../evil/../evil; head f"}, []string{"cd src/../src && cat main.go", "cd src && cd ../src/deep && ls"},
	},
	{ // the kernel follows 40 links at once, and a shell may go in two steps
		`echo canary > ../f && mkdir d; ln -s d L0; for i in $(seq 25); do ln -s L$((i-1)) L$i; done; ln -s ../../f d/F0; for i in $(seq 25); do ln -s F$((i-1)) d/F$i; done
		 n=$(printf 'x%.0s' $(seq 200)); (for i in $(seq 25); do mkdir $n; cd $n; done; ln -s "$HOME" s)`,
		[]string{"cd L25 && cat F25", "cd L25; cat F25", "cat L25/F25", longWay("s")}, []string{"cat README.md"},
	},
	{ // rustup looks above the directory that a link leads to
		"mkdir -p deep/real/app && ln -s deep/real/app app && echo x > deep/rust-toolchain.toml", []string{"cd app && cargo --version", "cd deep/real/app && cargo --version"}, nil,
	},
	{"printf '!.env\\f\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\v\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\302\\240\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\342\\200\\203 \\n' > .rgignore", []string{"rg foo"}, nil},
	{"ln -s .env .python-version", []string{"python -V", "cd src && python3 --version", "cd src/deep && ruby --version; python -V"}, nil},
	{ // what is not in the directory may be in git's history
		"", []string{
			"git log -p -- *.pem", "git log -p -- server.pem", "git show HEAD -- *.ke[y]", "git log -p -- id_rs?",
			"git log -p -- a b c d e f g h i j k l m n o p q r s secrets.yml", "git diff -- a b c d e f g h i j k l m n o p q r kaggle.json", "git show -- a b c d e f g h i j k l m n o p q r x.tfstate y",
		}, []string{"git log -p -- *.go", "git log -p -- a b c d e f g h i j k l m n o p q r s"},
	},
	{ // names
		"", []string{
			"cat auth.json", "cat .yarnrc.yml", "cat pip.conf", "cat NuGet.Config", "cat .secrets.toml", "cat kaggle.json", "cat server.pem.bak", "cat .envrc.private", "cat .git/config", "cat /etc/gitlab-runner/config.toml",
			"cat /etc/containers/auth.json", "head .git/conf*", "cat src/../.git/config",
		}, []string{"git config --get remote.origin.url", "git config user.name", "git remote -v", "git status", "git log --oneline", "cat .git/HEAD"},
	},
}

// longWay is a command that goes down a path that is longer than the system takes at once.
func longWay(file string) string {
	line := ""
	for range 25 {
		line += "cd " + strings.Repeat("x", 200) + " && "
	}
	return line + "cat " + file
}

func TestHoles(t *testing.T) {
	for _, h := range holes {
		dir := filepath.Join(t.TempDir(), "w")
		if err := os.CopyFS(dir, os.DirFS(searchedFolder(t))); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", h.setup)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", h.setup, err, out)
		}
		for want, lines := range map[tool.Verdict][]string{tool.Ask: h.asked, tool.Allow: h.free} {
			for _, line := range lines {
				if got := judgeIn(dir, line); got != want {
					t.Errorf("%s after %q: %v, want %v", line, h.setup, got, want)
				}
			}
		}
	}
}

// A textconv with a relative path in the user's own configuration runs what the repository has under that name.
func TestRelativeProgramsOfTheUser(t *testing.T) {
	dir := searchedFolder(t)
	for config, want := range map[string]tool.Verdict{
		"[diff \"x\"]\ntextconv = ./conv.sh": tool.Ask, "[diff]\nexternal = tools/diff": tool.Ask, "[filter \"x\"]\nclean = \"sh scripts/clean.sh %f\"": tool.Ask, "[include]\npath = more": tool.Ask,
		"[diff \"x\"]\ntextconv = exiftool": tool.Allow, "[diff \"x\"]\ntextconv = ~/bin/conv": tool.Allow, "[filter \"lfs\"]\nclean = git-lfs clean -- %f\n[alias]\nlg = log origin/main..": tool.Allow,
	} {
		home := t.TempDir()
		for name, text := range map[string]string{".gitconfig": config, "more": "[diff \"x\"]\ntextconv = ../conv.sh"} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("HOME", home)
		w := permission.World{Roots: []string{dir}, Home: home, Disk: ondisk.New([]string{dir})}.Patient()
		r := commandRequest("git diff")
		r.Confirm = tool.Command{Line: "git diff", Directory: dir}
		if got := permission.New(w, permission.Default).Judge(r).Verdict; got != want {
			t.Errorf("%q: %v, want %v", config, got, want)
		}
	}
}

// git log -p prints what is in every file, whatever its command line names: a file under a deny rule that git has in its
// index is denied, unless a pathspec limits it to others.
func TestGitPrintsDeniedFiles(t *testing.T) {
	dir := searchedFolder(t, "private/x canary", "secret/y canary", "docs/a foo")
	cmd := exec.Command("bash", "-c", "git add private src docs README.md && git -c user.name=a -c user.email=b commit -qm one && echo more >> src/main.go")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tt := range []struct {
		rule  string
		lines map[tool.Verdict][]string
	}{
		{"Read(private/**)", map[tool.Verdict][]string{
			tool.Deny: {
				"git log -p", "git show", "git diff", "git log -p | head", "git show HEAD", "git log -u -3", "git log -U1", "git diff HEAD~1 HEAD", "git stash show -p", "git format-patch -1 --stdout", "cd src && git log -p",
				"git -C src show", "git log -p -- .", "git log -p -- private", "git show HEAD:private/x", "git diff --stat -p", "git log -1 --patch --stat", "git show --no-color HEAD", "git --no-pager log -p", "git --git-dir .git log -p", "git -C src -C .. log -p > f", "git log -p --unknown", "git log --cc",
			},
			tool.Ask: {"git log -p -- ':!private'", "git log -p -- . ':(exclude)private'", "git log -p -- '*.go'"},
			tool.Allow: {
				"git log", "git log --oneline", "git log --stat", "git show --stat", "git diff --name-only", "git diff -- src", "git log -p -- src README.md", "git show HEAD:src/main.go", "git show HEAD --name-only -- .",
				"git status", "git stash list", "git show -s", "git -C src diff -- main.go", "git stash push -u",
			},
		}},
		{"Read(secret/**)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git show", "git diff"}}},
		{"Read(.env)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git show", "git diff"}}},
		{"Read(**/x)", map[tool.Verdict][]string{tool.Deny: {"git log -p", "git diff"}, tool.Allow: {"git diff -- src"}}},
		{"Edit(private/**)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git diff"}}},
	} {
		rules, _, err := permission.ParseRules(nil, nil, []string{tt.rule})
		if err != nil {
			t.Fatal(err)
		}
		w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "nobody"), Disk: ondisk.New([]string{dir})}.Patient()
		for want, lines := range tt.lines {
			for _, line := range lines {
				r := commandRequest(line)
				r.Confirm = tool.Command{Line: line, Directory: dir}
				if d, why := permission.Check(w, rules, permission.Yolo, permission.Options{}, r); d.Verdict != want {
					t.Errorf("%s under %s: %v, want %v: %s", line, tt.rule, d.Verdict, want, why)
				}
			}
		}
	}
}
