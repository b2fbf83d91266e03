package session_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/tool"
)

// credentialTree is a home directory and a repository whose git configurations contain credentials.
type credentialTree struct {
	canaryTree
	secrets []string
}

// The credentials, by where they are. The last one is masked only as the password of a URL.
const (
	inURL, inHeader, inHome, inInclude, inNested, inNetrc, shortOne = "CANARYURL", "CANARY&HDR+1", "c4naryhome", "c4nary/inc", "canary_nested9", "c4narynetrc", "hidd3n"
)

func newCredentialTree(t *testing.T) *credentialTree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := &credentialTree{canaryTree{home: filepath.Join(base, "home"), work: filepath.Join(base, "ws")}, []string{inURL, inHeader, inHome, inInclude, inNested, inNetrc, shortOne}}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + inHeader))
	tree.secrets = append(tree.secrets, basic)
	for path, text := range map[string]string{
		tree.home + "/.gitconfig": "[user]\n\tname = a\n\temail = a@b\n[url \"https://u:" + inHome + "@github.com/\"]\n\tinsteadOf = gh:\n" +
			"[includeIf \"gitdir:/nowhere/\"]\n\tpath = .gitconfig-work\n",
		tree.home + "/.gitconfig-work": "[http]\n\textraHeader = \"Authorization: Bearer " + inInclude + "\"\n",
		tree.home + "/.netrc":          "machine example.com login me password " + inNetrc + "\n",
		tree.work + "/f.txt":           "hi\nnetrc " + inNetrc + "\n",
	} {
		writeFile(t, path, text)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "f.txt"}, {"commit", "-qm", "1"}, {"init", "-q", "vendor/lib"},
		{"-C", "vendor/lib", "config", "remote.origin.url", "https://u:" + inNested + "@github.com/x/lib"},
		{"config", "remote.origin.url", "https://u:" + inURL + "@github.com/x/y"},
		{"config", "remote.up.url", "https://me:" + shortOne + "@github.com/x/y"},
		{"config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic " + basic},
	} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = tree.work, append(tree.environ(), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	return tree
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shown returns the credentials in a text, as they are or encoded or backwards.
func (tree *credentialTree) shown(text string) (out []string) {
	for _, s := range tree.secrets {
		runes := []byte(s)
		for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
			runes[i], runes[j] = runes[j], runes[i]
		}
		for _, form := range []string{s, string(runes), url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte("u:" + s)), base64.StdEncoding.EncodeToString([]byte("x" + s))[2:]} {
			if strings.Contains(text, strings.TrimRight(form, "=")) {
				out = append(out, s+" as "+form)
			}
		}
	}
	return out
}

// ways are the ways to read git's configuration: of attacks/git_config_token.sh, and variants. Others than commands begin
// with the name of a tool.
var ways = []string{
	"cat .git/config", "git remote -v", "git config -l", "git remote show -n origin", "git ls-remote --get-url", "git ls-remote --get-url gh:x/y", "grep -r CANARY .git",
	`grep_search {"pattern":"CANARY","path":".git"}`, `grep_search {"pattern":".","path":".git"}`, `python3 -c "print(open('.git/config').read())"`, "git config --get-regexp .*",
	"cat .git/conf*", "tail -n 99 .git/*", "cd .git && cat config", `git -c alias.x="!cat .git/config" x`, "find .git -name config -exec cat {} +", "tar c .git/config",
	`read_many_files {"paths":[".git/**"]}`, `read_many_files {"paths":["**/.git/*"]}`, `read_file {"absolute_path":"$W/.git/config"}`, `read_file {"absolute_path":"$W/vendor/lib/.git/config"}`,
	"git config -l | rev", "git config -l | base64 -w0", "git config -l | sed 's/./&-/g'", "rev .git/config", "git config --global -l", "git -C vendor/lib remote -v",
	"cat vendor/lib/.git/conf*", "rev vendor/lib/.git/con*", "git config --list --show-origin --includes", "sed 's/^/x/' .git/config | base64 -w0", "xxd .git/config; od -c .git/config",
	"python3 -c \"import urllib.parse as u; print(u.quote(open('.git/config').read(), safe=''))\"", "bash -c 'cat .git/config'", "bash -c 'rev .git/config; cp .git/config x; rev x'", "cat f.txt",
	`read_file {"absolute_path":"$W/f.txt"}`, `grep_search {"pattern":"netrc"}`, "dd if=.git/config", "git -c core.pager=cat config -l", "cp -r .git g2 && rev g2/config && git --git-dir g2 config -l",
	"strings .git/config", "awk '{print}' .git/config", "sh -c 'ln .git/config l; rev l'", "git worktree add -q wt && git -C wt remote -v && rev .git/worktrees/wt/../../config",
}

// Credentials in git's configuration and in files of credentials don't reach the model: commands without approval see a copy
// without them, and results are masked. 13 of 17 ways showed them.
func TestGitCredentialsAreNotShown(t *testing.T) {
	for _, c := range []struct{ name, settings string }{
		{"sandbox", `{"tools":{"trial":"off"}}`}, {"bubblewrap", `{"tools":{"trial":"off","sandboxBackend":"bubblewrap"}}`}, {"trial", `{"tools":{"trial":"auto"}}`},
		{"no sandbox", `{"tools":{"trial":"off","sandbox":"off"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := newCredentialTree(t)
			if why := tree.unlimited(c.name == project.Bubblewrap); why != "" && c.name != "no sandbox" {
				t.Skip(why)
			}
			s := tree.open(t, c.settings)
			ran := 0
			for _, way := range ways {
				o := tree.call(t, s, way)
				if o.Status != tool.StatusDenied {
					ran++
				}
				text, err := o.JSON(nil)
				if err != nil {
					t.Fatal(err)
				}
				transformed := strings.ContainsAny(way, "|") || strings.Contains(way, "rev") || strings.Contains(way, "quote")
				if c.name == "no sandbox" && (transformed || strings.Contains(way, "vendor")) {
					continue // such commands read the files themselves
				}
				if found := tree.shown(string(text)); len(found) > 0 {
					t.Errorf("%s: %q in\n%s", way, found, o.Result.Text())
				}
			}
			t.Logf("%d of %d ways ran", ran, len(ways))
			if ran < len(ways)/6 {
				t.Errorf("only %d of %d ways ran: this proves little", ran, len(ways))
			}
		})
	}
}

// call runs a command, or a tool whose name is followed by its arguments.
func (tree *credentialTree) call(t *testing.T, s *session.Session, way string) tool.Outcome {
	t.Helper()
	call := tool.Call{Name: "run_shell_command"}
	if name, args, ok := strings.Cut(way, " {"); ok && !strings.Contains(name, " ") && strings.Contains(name, "_") {
		call.Name, call.Args = name, json.RawMessage("{"+strings.ReplaceAll(args, "$W", tree.work))
	} else {
		b, err := json.Marshal(map[string]any{"command": way})
		if err != nil {
			t.Fatal(err)
		}
		call.Args = b
	}
	batch := s.Executor.Batch(t.Context())
	batch.Add(call)
	return batch.Wait()[0]
}

// A tried command changes git's configuration, whose copy it saw has no credentials: the changes are applied to the file,
// which keeps its credentials.
func TestGitConfigChangedInTrial(t *testing.T) {
	tree := newCredentialTree(t)
	if why := tree.unlimited(false); why != "" {
		t.Skip(why)
	}
	s := tree.open(t, `{"tools":{"trial":"auto"}}`)
	asked := 0
	s.Executor.Ask = func(_ context.Context, r tool.Request, d tool.Decision) (tool.Decision, error) {
		asked++
		if _, ok := r.Confirm.(tool.Effects); !ok {
			t.Errorf("%s was not tried: %s", r.Description, d.Reason)
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	config := func() string {
		text, err := os.ReadFile(filepath.Join(tree.work, ".git/config"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := config()
	for _, c := range []struct {
		line string
		want func(before string) string
	}{
		{"git config core.abbrev 9", func(b string) string {
			return strings.Replace(b, "[remote \"origin\"]", "\tabbrev = 9\n[remote \"origin\"]", 1)
		}},
		{"git remote add third https://example.com/z", func(b string) string {
			return b + "[remote \"third\"]\n\turl = https://example.com/z\n\tfetch = +refs/heads/*:refs/remotes/third/*\n"
		}},
		{"git remote rename up upstream", func(b string) string { return strings.Replace(b, `"up"`, `"upstream"`, 1) }},
		{"git branch -q -c main other && git config --unset core.abbrev", func(b string) string { return strings.Replace(b, "\tabbrev = 9\n", "", 1) }},
		{"git remote set-url origin https://example.com/new", func(b string) string {
			return strings.Replace(b, "https://u:"+inURL+"@github.com/x/y", "https://example.com/new", 1)
		}},
		{"echo y >> f.txt", func(b string) string { return b }},
	} {
		asked = 0
		o := tree.call(t, s, c.line)
		if o.Status != tool.StatusSuccess || asked != 1 {
			t.Errorf("%s: %s, asked %d times\n%s", c.line, o.Status, asked, o.Result.Text())
		}
		want := c.want(before)
		if got := config(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.line, got, want)
		}
		before = config()
	}
	// What would write a mask over a credential can't be kept.
	s.Executor.Ask = nil
	if o := tree.call(t, s, "sed -i s/github.com/evil.example/ .git/config"); o.Status == tool.StatusSuccess || config() != before {
		t.Errorf("%s\n%s", o.Result.Text(), config())
	}
	if strings.Contains(config(), redact.Masked) {
		t.Error(config())
	}
}
