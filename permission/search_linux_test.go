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

// searchedFolder is a workspace with a secret in its first folder, as most have, and files beside it: "path text".
func searchedFolder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("no git here: %v: %s", err, out)
	}
	for _, f := range append(files, ".env KEY=canary", "README.md foo", "src/main.go foo", "src/app.ts foo", "src/deep/.x/y foo") {
		name, text, _ := strings.Cut(f, " ")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// judgeIn is the verdict on a line in a folder of the real disk.
func judgeIn(dir, line string) tool.Verdict {
	w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "nobody"), Disk: ondisk.New([]string{dir}), Path: systemPath}.Patient()
	r := commandRequest(line)
	r.Confirm = tool.Command{Line: line, Directory: dir}
	return permission.New(w, permission.Default).Judge(r).Verdict
}

// git diff HEAD~1 HEAD asked in every workspace that has a .env, which it does not look at. Searches ask there, whatever
// patterns limit them: which files rg and grep make of a pattern was misread more than once.
func TestASecretElsewhere(t *testing.T) {
	dir := searchedFolder(t)
	for want, lines := range map[tool.Verdict][]string{
		tool.Allow: {
			"git diff HEAD~1 HEAD", "git diff HEAD~1:a.md HEAD:a.md", "git diff --no-index src/main.go README.md", "git grep foo -- src", "git grep foo -- '*.go' src",
			"git grep -e foo --and -e bar -- src", "git -C src grep foo -- '*.go'",
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
				tellsNoSecret(t, dir, line)
			}
		}
	}
}

// git grep looks at what is tracked, by the names that the index has: also at a secret that is not on the disk, and
// through a link that has come where a folder was.
func TestTrackedSecrets(t *testing.T) {
	greps := []string{"git grep foo", "git grep foo .", "git grep -- foo src", "git grep foo --", "git grep foo -- ':!docs'", "git grep foo -- .", "git grep foo -- '*'", "git grep foo -- '*.go' '*'", "git grep -n foo HEAD"}
	for _, tt := range []struct {
		setup          string
		allowed, asked []string
	}{
		{
			"git add src README.md",
			append(greps, "git grep foo src", "git grep foo -- *.md"),
			[]string{"wc -l $(git ls-files '*.go')", "for f in $(git ls-files); do wc -l $f; done", "git ls-files -o | xargs cat", "git ls-files -s | xargs cat", "git -C src ls-files | xargs cat", "git ls-files --format='.env' | xargs cat", "git ls-files .. | xargs cat", "git ls-files --eol | xargs cat",
				"git ls-files ':!x' | xargs cat", "git ls-files | xargs cat .env", "git ls-files | xargs rm", "cd src && git ls-files --full-name | xargs cat"},
		},
		{"git add -f .", nil, append(greps, "git ls-files | xargs cat")},
		{"git add -f . && mv .env gone", nil, greps},
		{"mkdir d ../out && echo foo > d/notes.txt && git add d && rm -r d && echo canary > ../out/notes.txt && ln -s ../out d", nil, append(greps, "git ls-files | xargs cat")},
		{"git add src && mkdir ../out && ln -s ../out l && git add l", greps[:1], []string{"git ls-files | xargs cat"}},
		{"echo foo > 'a b.go' && git add a* && rm a*", greps, []string{"git ls-files | xargs cat", "git ls-files '*.go' | xargs cat", "wc -l $(git ls-files)"}},
		{"echo foo > ./-x.go && git add ./-x.go", greps, []string{"git ls-files -z | xargs -0 cat"}},
		{"mkdir gone && echo foo > gone/.env && echo foo > 'gone/a b' && git add -f gone && rm -r gone", nil, append(greps, "git grep foo -- gone", "git ls-files gone | xargs wc -l", "for f in a b c d e f g h i j k l m n o p q r s; do echo $f; done; git grep --cached foo -- gone")},
		{"rm -rf .git", nil, []string{"git ls-files | xargs cat", "git grep foo"}},
	} {
		dir := filepath.Join(t.TempDir(), "w")
		if err := os.CopyFS(dir, os.DirFS(searchedFolder(t))); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", tt.setup)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", tt.setup, err, out)
		}
		for _, line := range tt.allowed {
			if got := judgeIn(dir, line); got != tool.Allow {
				t.Errorf("%s after %s: %v", line, tt.setup, got)
			}
			tellsNoSecret(t, dir, line)
		}
		for _, line := range tt.asked {
			if got := judgeIn(dir, line); got != tool.Ask {
				t.Errorf("%s after %s: %v", line, tt.setup, got)
			}
		}
	}
}

// tellsNoSecret runs a search for the secret as it would be run unasked, if its program is there.
func tellsNoSecret(t *testing.T, dir, line string) {
	t.Helper()
	if _, err := exec.LookPath(strings.Fields(line)[0]); err != nil {
		return
	}
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(line, "foo", "canary"))
	cmd.Dir = dir
	cmd.Env = environ.Unasked(append(os.Environ(), "HOME="+filepath.Join(dir, "nobody")), dir)
	if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "canary") {
		t.Errorf("%s tells a secret: %s", line, out)
	}
}
