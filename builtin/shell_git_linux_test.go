package builtin

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/tool"
)

// gitRepo is a repository with protected files and branches that differ in them or don't.
type gitRepo struct {
	dir, home string
	env       []string
}

// copy returns the same repository in another place.
func (g *gitRepo) copy(t *testing.T) *gitRepo {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(base, os.DirFS(filepath.Dir(g.dir)))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := gitRepoIn(base)
	c.sh(t, "git update-index -q --refresh")
	return c
}

func gitRepoIn(base string) *gitRepo {
	g := &gitRepo{dir: filepath.Join(base, "repo"), home: filepath.Join(base, "home")}
	g.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TEMPLATE_DIR="}
	return g
}

func newGitRepo(t *testing.T) *gitRepo {
	t.Helper()
	if !sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces) {
		t.Skip("not all layers work here:", strings.Join(sandbox.Probe().Lines(false), "; "))
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := gitRepoIn(base)
	os.MkdirAll(g.home, 0o755)
	os.WriteFile(filepath.Join(g.home, ".gitconfig"), []byte("[user]\nname = a\nemail = a@example.test\n[protocol \"file\"]\nallow = always\n[init]\ndefaultBranch = main\n[alias]\nco = checkout\n"), 0o600)
	os.MkdirAll(g.dir, 0o755)
	g.sh(t, `git init -q && mkdir -p .github/workflows .vscode src app/.vscode
		echo 1 > .github/workflows/ci.yml; echo 1 > .vscode/settings.json; echo 1 > app/.vscode/tasks.json; echo 1 > app/x; echo 1 > src/a; echo 1 > b
		git add -A && git commit -qm one
		git switch -qc ci && echo 2 > .github/workflows/ci.yml && echo 2 > src/a && git mv b c && git commit -qam ci
		git switch -qc agents main && mkdir .agents && echo 1 > .agents/x && git add -A && git commit -qm agents
		git switch -qc gone main && git rm -qr .vscode && git commit -qm gone
		git switch -qc plain main && echo 3 > b && git commit -qam plain
		git switch -q main && echo 4 > src/new && git add -A && git commit -qm two
		git clone -q --bare . ../remote.git && git clone -q . ../module`)
	return g
}

// sh runs a script without a sandbox.
func (g *gitRepo) sh(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", script)
	cmd.Dir, cmd.Env = g.dir, g.env
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, text)
	}
	return string(text)
}

// state returns all that a command could change: files of the worktree, the head, branches and settings.
func (g *gitRepo) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(g.dir, path)
		if d != nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		text, _ := os.ReadFile(path)
		b.WriteString(rel + "=" + string(text) + "\n")
		return nil
	})
	return b.String() + g.sh(t, "cat .git/config .git/HEAD; git show-ref; git stash list; GIT_OPTIONAL_LOCKS=0 git status --porcelain")
}

// call runs a command in the workspace sandbox. The user approves or denies opening the sandbox.
func (g *gitRepo) call(t *testing.T, s Sandbox, command string, yes bool) (o tool.Outcome, asked []string) {
	t.Helper()
	set, err := New(Options{Dir: g.dir, State: t.TempDir(), Helper: testHelper, Sandbox: s, Environ: g.env})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Policy = func(r tool.Request) tool.Decision {
		if len(r.Access) > 1 {
			return tool.Decision{Verdict: tool.Ask}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	x.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		asked = append(asked, r.Confirm.(tool.Command).Warnings...)
		if r.MustAsk { // a retry without the sandbox
			asked = append(asked, "RETRY")
			return tool.Decision{Verdict: tool.Deny}, nil
		}
		if !yes {
			return tool.Decision{Verdict: tool.Deny}, nil
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return call(t, x, "run_shell_command", args{"command": command}), asked
}

// touchAll makes git unsure whether files have changed, as in a copy of a repository.
const touchAll = "find . -name .git -prune -o -type f -exec touch -d 2020-01-01 {} +; "

// gitCases are everyday commands.
var gitCases = []struct{ name, setup, command, asks, check string }{
	{"checkout elsewhere", "", "git checkout plain", "", "grep 3 b"},
	{"checkout of protected", "", "git checkout ci", "git checkout changes .github/workflows, which the sandbox protects", "grep 2 .github/workflows/ci.yml"},
	{"checkout by alias", "", "git co ci", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"checkout in a subdirectory", "", "cd src && git checkout ci", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"checkout by -C", "", "git -C src checkout -q ci", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"checkout that creates", "", "git checkout agents", "changes .agents,", "grep 1 .agents/x"},
	{"checkout that deletes", "", "git switch gone", "changes .vscode,", "test ! -e .vscode"},
	{"checkout of a variable", "", "b=$(cat src/a); git checkout ci$b || git checkout ci", "may change .github/workflows", "grep 2 .github/workflows/ci.yml"},
	{"checkout there and back", "", "git checkout -q ci && git checkout -q main", "changes .github/workflows,", "grep 1 .github/workflows/ci.yml"},
	{"checkout of paths", "", "git checkout ci -- .github", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"checkout of other paths", "", "git checkout ci -- src", "", "grep 2 src/a"},
	{"new branch", "", "git checkout -b new && git switch -c newer", "", "git show-ref newer"},
	{"checkout with a make", "", "git checkout ci && test -e src", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"tracking branch", "git remote add origin ../remote.git && git fetch -q && git branch -D plain", "git checkout plain", "changes .git/config (branch.plain)", "git config branch.plain.remote"},
	{"stash of protected", "echo 9 > .vscode/settings.json", "git stash", "changes .vscode,", "grep 1 .vscode/settings.json"},
	{"stash", "echo 9 > b", "git stash && git stash pop", "", "grep 9 b"},
	{"stash pop of protected", "echo 9 > .vscode/settings.json; git stash", "git stash pop", "changes .vscode,", "grep 9 .vscode/settings.json"},
	{"stash there and back", "echo 9 > .vscode/settings.json", "git stash && cat .vscode/settings.json && git stash pop", "changes .vscode,", "grep 9 .vscode/settings.json"},
	{"mv", "", "git mv src/a src/z", "", "test -e src/z"},
	{"mv of a directory", "", "git mv src lib", "", "test -e lib/a"},
	{"mv of protected", "", "git mv .vscode/settings.json b2", "changes .vscode,", "test -e b2"},
	{"mv of a directory with protected", "", "git mv app app2", "changes app/.vscode,", "test -e app2/.vscode/tasks.json"},
	{"mv into a directory with protected", "", "git mv src/a app/", "changes app/.vscode,", "test -e app/a"},
	{"rm of protected", "", "git rm -q .vscode/settings.json", "changes .vscode,", "test ! -e .vscode/settings.json"},
	{"rm", "", "git rm -q src/a", "", "test ! -e src/a"},
	{"merge of protected", "", "git merge -q ci", "changes .github/workflows,", "grep 2 .github/workflows/ci.yml"},
	{"merge", "", "git merge -q plain", "", "grep 3 b"},
	{"rebase", "git switch -q plain", "git rebase -q main", "", "test -e src/new"},
	{"rebase of protected", "git switch -q ci", "git rebase -q main", "changes .github/workflows", "test -e src/new; grep 2 .github/workflows/ci.yml"},
	{"cherry-pick of protected", "", "git cherry-pick ci", "changes .github/workflows", "grep 2 .github/workflows/ci.yml"},
	{"cherry-pick", "", "git cherry-pick plain", "", "grep 3 b"},
	{"revert of protected", "git switch -q ci", "git revert --no-edit HEAD", "changes .github/workflows", "grep 1 .github/workflows/ci.yml"},
	{"reset", "echo 9 > b", "git reset -q --hard", "", "grep 1 b"},
	{"reset of protected", "echo 9 > .vscode/settings.json", "git reset -q --hard", "changes .vscode,", "grep 1 .vscode/settings.json"},
	{"reset of a copy", touchAll + "echo 9 > b", "git reset -q --hard", "changes .github/workflows, .vscode and app/.vscode,", "grep 1 b"},
	{"restore of a copy", touchAll, "git restore .", "changes .github/workflows, .vscode and app/.vscode,", "grep 1 b"},
	{"stash of a copy", touchAll + "echo 9 > b", "git stash", "", "grep 1 b"},
	{"checkout of a copy", touchAll, "git checkout plain", "", "grep 3 b"},
	{"rebase of a copy", touchAll, "git rebase plain", "", "grep 3 b"},
	{"merge of a copy", touchAll, "git merge plain", "", "grep 3 b"},
	{"restore of protected", "echo 9 > .vscode/settings.json", "git restore .", "changes .vscode,", "grep 1 .vscode/settings.json"},
	{"pull", "git remote add origin ../remote.git && git fetch -q && git branch -q --set-upstream-to origin/main", "git pull -q", "may change .adze, .agents, .mcp.json, .qwen, .github/workflows, .vscode", "true"},
	{"apply of protected", "git diff main ci > p.diff", "git apply p.diff", "changes .github/workflows", "grep 2 .github/workflows/ci.yml"},
	{"apply", "git diff main...plain > p.diff", "git apply p.diff", "", "grep 3 b"},
	{"clean of protected", "mkdir .idea && touch .idea/x y", "git clean -qfd", "changes .idea,", "test ! -e .idea -a ! -e y"},
	{"clean", "touch y", "git clean -qf", "", "test ! -e y"},
	{"config", "", "git config core.abbrev 9", "git config changes .git/config (core.abbrev)", "git config core.abbrev"},
	{"config that runs programs", "", "git config core.fsmonitor /bin/false", "core.fsmonitor can make git run programs", "git config core.fsmonitor"},
	{"config of two", "", "git config a.b 1 && git config a.c 2", "git config changes .git/config (a.c)", "git config a.c"},
	{"config read", "", "git config --get user.name", "", "true"},
	{"remote add", "", "git remote add origin ../remote.git", "git remote changes .git/config (remote.origin)", "git config remote.origin.url"},
	{"remote set-url", "git remote add o x", "git remote set-url o y", "changes .git/config (remote.o)", "git config remote.o.url | grep y"},
	{"remote rename", "git remote add o x", "git remote rename o p", "changes .git/config (remote.o)", "git config remote.p.url"},
	{"remote remove", "git remote add o x", "git remote remove o", "changes .git/config (remote.o)", "! git config remote.o.url"},
	{"branch -m", "", "git branch -m plain simple", "git branch changes .git/config (branch.plain, branch.simple)", "git show-ref simple"},
	{"branch -d", "", "git branch -D plain", "changes .git/config (branch.plain)", "! git show-ref heads/plain"},
	{"branch -d of a tracking branch", "git config branch.plain.remote o", "git branch -D plain", "changes .git/config (branch.plain)", "! git config branch.plain.remote"},
	{"branch --set-upstream-to", "git remote add o ../remote.git; git fetch -q o", "git branch -u o/main", "changes .git/config (branch.main)", "git config branch.main.remote"},
	{"push -u", "git remote add o ../remote.git", "git push -q -u o main", "changes .git/config (branch.main)", "git config branch.main.remote"},
	{"init in a subdirectory", "", "git init -q sub", "git init creates sub/.git", "test -e sub/.git/HEAD"},
	{"init", "rm -rf .git", "git init -q && git add -A && git commit -qm x", "git init creates .git", "git log -1"},
	{"init with a template", "rm -rf .git; mkdir -p ../t/hooks; touch ../t/hooks/pre-push", "git init -q --template ../t", "git init creates .git and copies hooks and settings from ../t", "test -e .git/hooks/pre-push"},
	{"in a nested repository", "git init -q sub && mkdir -p sub/.circleci && touch sub/.circleci/x && git -C sub add -A && git -C sub commit -qm x && git -C sub switch -qc y && echo 1 > sub/.circleci/x && git -C sub commit -qam y", "cd sub && git switch main", "changes sub/.circleci,", "test ! -s sub/.circleci/x"},
	{"pull in a nested repository", "git init -q sub && mkdir -p sub/.circleci && touch sub/.circleci/x && git -C sub add -A && git -C sub commit -qm x && git clone -q sub ../up && git -C sub remote add origin ../../up && git -C sub fetch -q && git -C sub branch -q -u origin/main", "git -C sub pull -q", "may change sub/.circleci,", "true"},
	{"clean of a nested repository", "git init -q sub && touch sub/x", "git clean -qffd", "changes sub/.git/", "test ! -e sub"},
	{"odd names", "git switch -qc odd && mkdir -p '.circleci/a b' && echo 1 > $'.circleci/a b/\u00fc\n' && git add -A && git commit -qm odd && echo 2 > $'.circleci/a b/\u00fc\n' && git commit -qam odd2", "git checkout 'HEAD^'", "changes .circleci,", "grep 1 .circleci/*/*"},
	{"nothing to check out", "", "git checkout nowhere || true", "", "true"},
	{"clone", "", "git clone -q ../remote.git sub", "git clone creates sub/.git", "test -e sub/.git/HEAD -a -e sub/b"},
	{"worktree add", "", "git worktree add -q wt plain && cd wt && echo 5 > b && git commit -qam five", "", "grep 5 wt/b && git -C wt rev-parse --verify HEAD"},
	{"worktree remove", "git worktree add -q wt plain", "git worktree remove wt", "git worktree changes .git/worktrees/wt", "test ! -e wt -a ! -e .git/worktrees"},
	{"submodule add", "", "git submodule add ../module sub", "git submodule creates .git/modules/sub and changes .git/config (submodule)", "test -e sub/.git -a -e sub/b -a -e .gitmodules"},
	{"submodule update", "git submodule add -q ../module sub && git commit -qm sub && git submodule -q deinit -f sub && rm -rf .git/modules", "git submodule update --init", "changes .git/config (submodule.sub)", "test -e sub/b && git -C sub status"},
	{"submodule update again", "git submodule add -q ../module sub && rm -rf sub/.vscode sub/.github sub/app", "git submodule update --init", "changes .git/modules/sub/config (core.worktree)", "test -e sub/b"},
	{"submodule mv", "git submodule add -q ../module sub && git commit -qm sub", "git mv sub sub2", "changes .git/config (submodule.sub)", "test -e sub2/b && git -C sub2 status"},
	{"submodule deinit", "git submodule add -q ../module sub && git commit -qm sub", "git submodule deinit -f sub", "changes .git/config (submodule)", "test ! -e sub/b"},
	{"sparse-checkout", "", "git sparse-checkout set src", "changes .git/config", "test ! -e app/x"},
}

// Git's changes of protected paths are complete once the user approves them, and otherwise don't happen. Other changes
// require no approval.
func TestGitInWorkspace(t *testing.T) {
	soak.Skip(t, 33, 100)
	template := newGitRepo(t)
	for i, c := range gitCases {
		if i%3 != 0 && soak.Share() < 1 {
			continue
		}
		for _, yes := range []bool{true, false} {
			if !yes && (c.asks == "" || i%4 != 0 && i%6 != 0 && soak.Share() < 1) { // a denied call takes one path
				continue
			}
			t.Run(c.name+map[bool]string{true: "", false: " denied"}[yes], func(t *testing.T) {
				t.Parallel()
				g := template.copy(t)
				if c.setup != "" {
					g.sh(t, c.setup)
				}
				before := ""
				if !yes && !strings.HasPrefix(c.name, "init") {
					before = g.state(t)
				}
				o, asked := g.call(t, Sandbox{Mode: "workspace"}, c.command, yes)
				if text := strings.Join(asked, "\n"); c.asks == "" && text != "" || !strings.Contains(text, c.asks) {
					t.Errorf("asked: %q", text)
				}
				if !yes {
					if o.Status != tool.StatusDenied {
						t.Errorf("%v: %s", o.Status, o.Result.Text())
					}
					if !strings.HasPrefix(c.name, "init") && g.state(t) != before {
						t.Errorf("it changed something:\n%s\n%s", before, g.state(t))
					}
					return
				}
				if o.Error != nil || strings.Contains(o.Result.Text(), "Read-only file system") || strings.Contains(o.Result.Text(), "busy") {
					t.Fatalf("%v\n%s", o.Error, o.Result.Text())
				}
				g.sh(t, c.check)
			})
		}
	}
}

// An approval opens only the paths in the prompt.
func TestGitOpeningIsNarrow(t *testing.T) {
	template := newGitRepo(t)
	for _, c := range []struct{ command, changed string }{
		{"git checkout -q ci; touch .git/hooks/x; echo x >> .git/config; echo x > .vscode/settings.json; mkdir .adze; mv .git g", " M .github/workflows/ci.yml"},
		{"git config a.b c; echo x > b", ""}, // it doesn't run
		{"git config a.b c && git -c core.pager='touch b2; false' log", ""},
		{"git config a.b c && git rebase -x 'touch b2' HEAD~1", ""},
		{"sh -c 'git config a.b c'; touch b2", ""},
		{"git init -q; echo x > .git/hooks/x", ""},
		{"git submodule add ../module s && git submodule foreach 'touch ../b2'", ""},
	} {
		t.Run(c.command, func(t *testing.T) {
			g := template.copy(t)
			hooks := g.sh(t, "mkdir -p .git/hooks; ls .git/hooks; cat .git/config; cat .vscode/settings.json")
			o, asked := g.call(t, Sandbox{Mode: "workspace"}, c.command, true)
			if got := g.sh(t, "ls .git/hooks; cat .git/config; cat .vscode/settings.json"); got != hooks {
				t.Errorf("changed:\n%s\nto:\n%s", hooks, got)
			}
			_, err := os.Lstat(g.dir + "/.adze")
			if _, err2 := os.Lstat(g.dir + "/b2"); err == nil || err2 == nil {
				t.Error(".adze or b2 was made")
			}
			if c.changed == "" && (o.Error == nil || !strings.Contains(o.Error.Message, "separate call") || len(asked) > 0) {
				t.Errorf("%v: %v: %s", asked, o.Error, o.Result.Text())
			}
			if c.changed != "" && !strings.Contains(strings.Join(asked, "\n"), "every program of this command can change them") {
				t.Errorf("%q", asked)
			}
		})
	}
}

// The needs of a command are determined again before it runs: if they exceed the approval, it doesn't run.
func TestGitChangesAfterApproval(t *testing.T) {
	g := newGitRepo(t)
	set, err := New(Options{Dir: g.dir, State: t.TempDir(), Helper: testHelper, Sandbox: Sandbox{Mode: "workspace"}, Environ: g.env})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }
	x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		g.sh(t, "git branch -f ci gone") // after the prompt was made
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	o := call(t, x, "run_shell_command", args{"command": "git checkout ci"})
	if o.Error == nil || !strings.Contains(o.Error.Message, "it now changes "+g.dir+"/.vscode too") {
		t.Errorf("%v: %s", o.Error, o.Result.Text())
	}
	if head := g.sh(t, "git symbolic-ref HEAD"); head != "refs/heads/main\n" {
		t.Error(head)
	}
}

// If git is stopped in a script, the result says so although the script succeeds.
func TestGitStoppedHalfway(t *testing.T) {
	g := newGitRepo(t)
	g.sh(t, "echo 'git checkout -q ci; true' > s.sh")
	o, _ := g.call(t, Sandbox{Mode: "workspace"}, "sh s.sh", true)
	if text := o.Result.Text(); o.Error != nil || !strings.Contains(text, "Parts of it were likely blocked by the workspace sandbox") || !strings.Contains(text, g.dir+"/.github/workflows") {
		t.Errorf("%v: %s", o.Error, text)
	}
}

// Modes that don't protect anything don't ask.
func TestGitOutsideOfWorkspaceMode(t *testing.T) {
	template := newGitRepo(t)
	for _, mode := range []string{"auto", "off"} {
		g := template.copy(t)
		if o, asked := g.call(t, Sandbox{Mode: mode}, "git checkout -q ci && git config a.b c", true); o.Error != nil || len(asked) > 0 {
			t.Errorf("%s: %v %v", mode, asked, o.Error)
		}
	}
}
