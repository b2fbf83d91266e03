package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// workspaceWithSecret is a repository with a .env and a few more files, given as "path text".
func workspaceWithSecret(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("no git here: %v: %s", err, out)
	}
	writeFiles(t, dir, append(files, ".env KEY=canary", "README.md foo", "src/main.go foo", "src/app.ts foo", "src/deep/.x/y foo")...)
	return dir
}

// writeFiles writes files, given as "path text".
func writeFiles(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut(f, " ")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runIn runs a script with bash.
func runIn(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// judgeIn is the verdict on a line in a directory of the real disk, where no sandbox enforces reads.
func judgeIn(dir, line string) tool.Verdict {
	d, _ := checkIn(dir, line, permission.Rules{}, permission.None)
	return d.Verdict
}

// checkIn is the decision on a line in a directory of the real disk.
func checkIn(dir, line string, rules permission.Rules, place permission.Place) (tool.Decision, []string) {
	return checkAmong(secretsIn(dir), dir, line, rules, place)
}

// checkAmong is checkIn with the secrets of the workspace.
func checkAmong(secrets func() ([]string, bool), dir, line string, rules permission.Rules, place permission.Place) (tool.Decision, []string) {
	w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "..", "home"), Disk: ondisk.New([]string{dir}), Secrets: secrets}
	return permission.Check(in(place, w), rules, permission.Default, permission.Options{}, commandIn(dir, line))
}

// git diff HEAD~1 HEAD needed approval in every workspace with a .env, which it doesn't read. Searches need approval there,
// whatever patterns limit them: it was misread more than once which files rg and grep search for a pattern.
func TestSecretInWorkspace(t *testing.T) {
	dir := workspaceWithSecret(t)
	for want, lines := range map[tool.Verdict][]string{
		tool.Allow: {
			"git diff HEAD~1 HEAD", "git diff HEAD~1:a.md HEAD:a.md",
			"rg foo src", "grep -rn foo src", "rg foo -g '*.go' src",
		},
		tool.Ask: {
			"git diff . src", "git diff --no-index . src", "git grep foo -- .env", "git grep foo -- '*v'", "git grep foo -- '.e*'", "git grep foo -- '?env'", "git grep --no-index foo", "git grep --untracked foo", "git grep --untracked foo -- '*'",
			"rg --hidden foo", "rg -. foo", "rg -uu foo", "rg -u -u foo", "rg -uuu foo", "rg --unrestricted -u foo", "rg -g '*' foo", "rg -g '*v' foo", "rg -g '.e*' foo", "rg -g '*.go' -g '.env' foo",
			"rg -g '*.{go,env}' foo", "rg -t sh foo", "rg -tall foo", "rg -t go -t sh foo", "rg -g '**' foo", "rg foo .env", "rg -g '**/.env' foo", "rg -g '!*.md' --hidden foo", "rg --iglob '.ENV' foo",
			"grep -rn foo .", "grep -rn foo --include='*' .", "grep -rn foo --include='.e*' .", "grep -r foo --exclude='x*' --include='*.go' .", "grep -r foo --include='*.go' --include='*v' .",
			"git grep --untracked foo -- src/*.go", "rg foo", "rg foo .", "rg --files", "rg -u foo", "rg --no-ignore foo", "rg -tgo foo", "rg foo -g '*.go'", "rg foo -g '*.{ts,go}'", "rg foo -g '!*.md'",
			"rg foo -g 'src/**/*.go'", "rg -T sh foo", "grep -rn foo --include='*.go' .", "grep -rn foo --include=*.go .", "grep -r foo --include='*.go' --exclude='x*' .",
			"find . -name '*.go' -exec grep -l foo {} +", "find . -name '*.go' -exec cat {} \\;",
			"find . -name '*v' -exec cat {} \\;", "find . -type f -exec cat {} +", "find . -iname '.ENV' -exec cat {} \\;",
		},
	} {
		for _, line := range lines {
			if got := judgeIn(dir, line); got != want {
				t.Errorf("%s: %v, want %v", line, got, want)
			}
			if want == tool.Allow {
				printsNoSecret(t, dir, line)
			}
		}
	}
}

// printsNoSecret searches for the secret with a line, in the environment of commands that run without approval.
func printsNoSecret(t *testing.T, dir, line string) {
	t.Helper()
	if _, err := exec.LookPath(strings.Fields(line)[0]); err != nil {
		return
	}
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(line, "foo", "canary"))
	cmd.Dir = dir
	cmd.Env = environ.AutoApproved(append(os.Environ(), "HOME="+filepath.Join(dir, "home")), dir)
	if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "canary") {
		t.Errorf("%s prints a secret: %s", line, out)
	}
}

// holes are commands that printed a secret or a file outside the workspace, or ran a program of the workspace, without
// approval. setup prepares the workspace; the free commands are similar and need no approval.
var holes = []struct {
	setup       string
	asked, free []string
}{
	{ // a pattern without quotes that matches no file is the text to search for
		"", []string{
			"grep -r API_KE[Y]", "grep -rE [A-Z]+_KEY", "rg -uu API_KE[Y]", `for w in [A]; do grep -rh "$w"; done`, "grep -rh A*Y", "rg -. KE?", "egrep -r [K]EY", "cd src && cd .. && grep -r KE[Y]",
		}, []string{"grep foo README.md", "grep -r 'KE[Y]' src", "rg 'KE[Y]' src"},
	},
	{ // to rg -g, # starts a comment, and whitespace at the end is ignored
		"touch server.pem id_rsa", []string{"rg -g '#' -uu X", "rg -g ' ' X", "rg -g '*.pem ' X", "rg -g '#x' X", "rg --glob='*.go\t' X", "rg --iglob '#' X"}, []string{"rg -g '*.go' X src", `rg -g '\#' X src`},
	},
	{ // cd goes through the link if a/evil isn't there
		"mkdir -p b/dir b/evil/src a && ln -s ../b/dir a/k && ln -s b/dir l && echo canary > ../f && ln -s ../../../f b/evil/f && git init -q b/evil && git -C b/evil config diff.external ./x",
		[]string{"cd a/k/../evil && cat f", "cd a/k/../evil && git diff", "cd l && cd ../evil && cat f", "cd a/k/../evil/src/.. && cat f", "cd a/k/../evil/../evil; head f"}, []string{"cd src/../src && cat main.go", "cd src && cd ../src/deep && ls"},
	},
	{ // the kernel follows at most 40 links at once, but a shell can follow more in two steps
		`echo canary > ../f && mkdir d; ln -s d L0; for i in $(seq 25); do ln -s L$((i-1)) L$i; done; ln -s ../../f d/F0; for i in $(seq 25); do ln -s F$((i-1)) d/F$i; done
		 n=$(printf 'x%.0s' $(seq 200)); (for i in $(seq 25); do mkdir $n; cd $n; done; ln -s "$HOME" s)`,
		[]string{"cd L25 && cat F25", "cd L25; cat F25", "cat L25/F25", deepDirectory("s")}, []string{"cat README.md"},
	},
	{ // rustup searches above the target of a link
		"mkdir -p deep/real/app && ln -s deep/real/app app && echo x > deep/rust-toolchain.toml", []string{"cd app && cargo --version", "cd deep/real/app && cargo --version"}, nil,
	},
	{"printf '!.env\\f\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\v\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\302\\240\\n' > .ignore", []string{"rg foo"}, nil},
	{"printf '!.env\\342\\200\\203 \\n' > .rgignore", []string{"rg foo"}, nil},
	{"ln -s .env .python-version", []string{"python -V", "cd src && python3 --version", "cd src/deep && ruby --version; python -V"}, nil},
	{ // a file that isn't in the directory may be in git's history
		"", []string{
			"git log -p -- *.pem", "git log -p -- server.pem", "git show HEAD -- *.ke[y]", "git log -p -- id_rs?",
			"git log -p -- a b c d e f g h i j k l m n o p q r s secrets.yml", "git diff -- a b c d e f g h i j k l m n o p q r kaggle.json", "git show -- a b c d e f g h i j k l m n o p q r x.tfstate y",
		}, []string{"git log -p -- a b c d e f g h i j k l m n o p q r s"},
	},
	{ // names of secret files
		"", []string{
			"cat auth.json", "cat .yarnrc.yml", "cat pip.conf", "cat NuGet.Config", "cat .secrets.toml", "cat kaggle.json", "cat server.pem.bak", "cat .envrc.private", "cat .git/config", "cat /etc/gitlab-runner/config.toml",
			"cat /etc/containers/auth.json", "head .git/conf*", "cat src/../.git/config",
		}, []string{"git config --get remote.origin.url", "git config user.name", "git remote -v", "git status", "git log --oneline", "cat .git/HEAD"},
	},
}

// deepDirectory is a command in a directory whose path is longer than the system's limit.
func deepDirectory(file string) string {
	line := ""
	for range 25 {
		line += "cd " + strings.Repeat("x", 200) + " && "
	}
	return line + "cat " + file
}

func TestHoles(t *testing.T) {
	for _, h := range holes {
		dir := filepath.Join(t.TempDir(), "w")
		if err := os.CopyFS(dir, os.DirFS(workspaceWithSecret(t))); err != nil {
			t.Fatal(err)
		}
		runIn(t, dir, h.setup)
		for want, lines := range map[tool.Verdict][]string{tool.Ask: h.asked, tool.Allow: h.free} {
			for _, line := range lines {
				if got := judgeIn(dir, line); got != want {
					t.Errorf("%s after %q: %v, want %v", line, h.setup, got, want)
				}
			}
		}
	}
}

// A textconv with a relative path in the user's configuration runs a program of the repository.
func TestRelativeProgramsOfTheUser(t *testing.T) {
	dir := workspaceWithSecret(t)
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
		w := permission.World{Roots: []string{dir}, Home: home, Disk: ondisk.New([]string{dir})}
		r := commandIn(dir, "git diff")
		if got := permission.New(w, permission.Default).Judge(r).Verdict; got != want {
			t.Errorf("%q: %v, want %v", config, got, want)
		}
	}
}

// git log -p prints the contents of all files. It is denied if the index has a file under a deny rule. With pathspecs,
// which may exclude the file, it asks.
func TestGitPrintsDeniedFiles(t *testing.T) {
	dir := workspaceWithSecret(t, "private/x canary", "secret/y canary", "docs/a foo")
	runIn(t, dir, "git add private src docs README.md && git -c user.name=a -c user.email=b commit -qm one && echo more >> src/main.go")
	for _, tt := range []struct {
		rule  string
		lines map[tool.Verdict][]string
	}{
		{"Read(private/**)", map[tool.Verdict][]string{
			tool.Deny: {
				"git log -p", "git show", "git diff", "git log -p | head", "git show HEAD", "git log -u -3", "git log -U1", "git diff HEAD~1 HEAD", "git stash show -p", "git format-patch -1 --stdout", "cd src && git log -p",
				"git -C src show", "git log -p -- private", "git show HEAD:private/x", "git diff --stat -p", "git log -1 --patch --stat", "git show --no-color HEAD", "git --no-pager log -p", "git --git-dir .git log -p", "git -C src -C .. log -p > f", "git log -p --unknown", "git log --cc",
			},
			tool.Ask: {
				"git log -p -- .", "git diff -- src", "git log -p -- src README.md", "git -C src diff -- main.go", // what pathspecs limit isn't checked
				"git log -p -- ':!private'", "git log -p -- . ':(exclude)private'", "git log -p -- '*.go'",
			},
			tool.Allow: {
				"git log", "git log --oneline", "git log --stat", "git show --stat", "git diff --name-only", "git show HEAD:src/main.go", "git show HEAD --name-only -- .",
				"git status", "git stash list", "git show -s", "git stash push -u",
			},
		}},
		{"Read(secret/**)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git show", "git diff"}}},
		{"Read(.env)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git show", "git diff"}}},
		{"Read(**/x)", map[tool.Verdict][]string{tool.Deny: {"git log -p", "git diff"}, tool.Ask: {"git diff -- src"}}},
		{"Edit(private/**)", map[tool.Verdict][]string{tool.Allow: {"git log -p", "git diff"}}},
	} {
		rules := parse(t, nil, nil, []string{tt.rule})
		w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "home"), Disk: ondisk.New([]string{dir})}
		for want, lines := range tt.lines {
			for _, line := range lines {
				r := commandIn(dir, line)
				if d, why := permission.Check(w, rules, permission.Yolo, permission.Options{}, r); d.Verdict != want {
					t.Errorf("%s under %s: %v, want %v: %s", line, tt.rule, d.Verdict, want, why)
				}
			}
		}
	}
}

// git diff printed changes of files above a workspace that is a subdirectory of its repository. Where the sandbox enforces
// If the workspace is a part of a repository, git shows files outside of it. Where nothing enforces reads, git asks there.
func TestWorkspaceInARepository(t *testing.T) {
	top := workspaceWithSecret(t, "notes.txt canary", "app/README.md foo", "app/src/main.go foo")
	app := filepath.Join(top, "app")
	for _, line := range []string{"git diff", "git show HEAD:notes.txt", "git log -p README.md", "git status", "cd src && git diff main.go"} {
		if got := judgeIn(app, line); got != tool.Ask {
			t.Errorf("%s: %v, want ask", line, got)
		}
		if got := judgeIn(top, strings.ReplaceAll(line, "cd src", "cd app/src")); got != tool.Allow {
			t.Errorf("%s at the top of the repository: %v, want allow", line, got)
		}
		if d, _ := checkIn(app, line, permission.Rules{}, permission.Overlay); !d.Try {
			t.Errorf("%s in an overlay: %v", line, d.Verdict)
		}
	}
}

// Commands on names that find, rg or grep print need approval.
func TestNamesOnDisk(t *testing.T) {
	dir := workspaceWithSecret(t, "odd/a b.go foo", "odd/-x.go foo", "deep/.env x", "deep/a.go foo")
	for want, lines := range map[tool.Verdict][]string{
		tool.Ask: {
			"find . -name '*.go' -print0 | xargs -0 grep -l foo", "find src deep -name '*.go' | xargs cat", "rg -l foo deep | xargs cat", "grep -rl foo --include='*.go' deep | xargs cat",
			"find deep -name '*.go' | while read f; do cat \"$f\"; done", "find . -name '*.go' -exec cat {} +", "find . \\( -name '*.go' -o -name '*.ts' \\) -print0 | xargs -0 cat", "find deep ! -path './x/*' -name '*.go' | xargs cat",
			"find . -name '*.go' | xargs wc -l", "find odd -name '*.go' | xargs wc -l", "find src odd -name '*.go' | xargs wc -l", "rg -l foo | xargs wc -l", "rg -l0 foo | xargs -0 cat", "wc -l $(find src -name '*.go')",
			"grep -rl foo deep | xargs cat", "find deep -type f -print0 | xargs -0 cat", "rg -lu foo . | xargs cat", "find . -name '*.go' | while read f; do cat \"$f\"; done", "find odd | xargs ls -ld",
			"for f in $(find src -name '*.go'); do cat $f; done", "cd odd && find . -name '*.go' | xargs cat",
		},
	} {
		for _, line := range lines {
			if got := judgeIn(dir, line); got != want {
				t.Errorf("%s: %v, want %v", line, got, want)
			}
		}
	}
}

// cd /etc && cat /proc/self/cwd/shadow ran without approval: the link was resolved in the process of Adze, whose directory is
// the workspace.
func TestLinksOfAProcess(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Symlink("/proc/self/cwd", filepath.Join(dir, "here")); err != nil {
		t.Fatal(err)
	}
	w := permission.World{Roots: []string{dir}, Home: "/home/me", Disk: ondisk.New(nil)}
	for _, line := range []string{
		"cd /etc && cat /proc/self/cwd/shadow", "cd /etc && cat /dev/fd/../cwd/shadow", "cd /etc; head < /proc/thread-self/cwd/shadow",
		"cd /etc && cat " + dir + "/here/shadow", "cd /etc && grep root /proc/self/cwd/shado*", "cd /usr && ls /proc/self/cwd", "cd /proc/self/cwd && ls",
		"f=/proc/self/cwd; cd /etc; cat $f/shadow", "for f in /proc/self/cwd/a; do cat < $f; done", "git -C /proc/self/cwd status",
	} {
		r := commandIn(dir, line)
		if permission.New(w, permission.Default).Judge(r).Verdict == tool.Allow {
			t.Errorf("runs without approval: %s", line)
		}
	}
}
