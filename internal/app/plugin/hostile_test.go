package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/hook"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// git runs git in a directory for a test, without the configuration of the user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com",
		"-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a git repository of files, with the tag v1.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git isn't installed")
	}
	if !sandbox.Probe().Layers().Has(sandbox.Landlock) {
		t.Skip("no sandbox here")
	}
	dir := filepath.Join(t.TempDir(), "tools.git")
	write(t, dir, files)
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "tag", "v1")
	return dir
}

// A plugin of a git repository is one commit, over each kind of URL, and an update follows the branch.
func TestGit(t *testing.T) {
	dir := repository(t, map[string]string{"plugin.json": manifest(""), "skills/greet/SKILL.md": greet})
	first := git(t, dir, "rev-parse", "HEAD")
	write(t, dir, map[string]string{"skills/new/SKILL.md": strings.ReplaceAll(greet, "greet", "new")})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "two")
	git(t, dir, "update-server-info")
	second := git(t, dir, "rev-parse", "HEAD")
	smart := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git(t, dir, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
	defer smart.Close()
	dumb := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(dir))))
	defer dumb.Close()
	for _, c := range []struct{ source, commit string }{
		{"file://" + dir, second},
		{"file://" + dir + "@v1", first},
		{"file://" + dir + "@" + first, first},
		{smart.URL + "/tools.git/.git", second},
		{smart.URL + "/tools.git/.git@v1", first},
		{dumb.URL + "/tools.git/.git", second},
		{dumb.URL + "/tools.git/.git@main", second},
	} {
		w := where(t)
		p, err := installFrom(t, w, ParseSource(c.source, ""))
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		all, err := List(w)
		if err != nil || len(all) != 1 || all[0].Commit != c.commit || len(skills(p)) != map[string]int{first: 1, second: 2}[c.commit] {
			t.Errorf("%s: %+v, %v, skills %v", c.source, all, err, skills(p))
		}
		entries, _ := os.ReadDir(filepath.Join(w.Home, "plugins", "my-plugin"))
		if len(entries) != 2 { // the files and the approval, and nothing of git
			t.Errorf("%s: left %v", c.source, entries)
		}
	}
	for _, c := range []struct{ source, want string }{
		{"file://" + dir + "@nowhere", "couldn't find remote ref nowhere"},
		{"file://" + dir + "@--upload-pack=touch pwned", "only https, http and file URLs"},
		{"file://" + dir + "@a:b", "only https, http and file URLs"},
		{"file:///nowhere", "read plugin file:///nowhere: git fetch: "},
		{"ssh://example.com/x", "Clone it yourself, then add the directory"},
		{"ext::sh -c 'touch pwned'://x", "Clone it yourself"},
	} {
		if _, err := installFrom(t, where(t), ParseSource(c.source, "")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.source, err, c.want)
		}
	}
}

// Nothing of git's that runs programs is used: what the repository says, and what the user's configuration says.
func TestGitRunsNothing(t *testing.T) {
	outside := t.TempDir()
	canary := filepath.Join(outside, "pwned")
	dir := repository(t, map[string]string{
		"plugin.json": manifest(""), "skills/greet/SKILL.md": greet,
		".gitattributes": "*.txt filter=evil eol=crlf ident\nbig filter=lfs\n", "a.txt": "one $Id$\n",
		"big":         "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
		".gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\turl = file://" + outside + "/repo\n\tupdate = !touch " + canary + "\n",
	})
	write(t, outside, map[string]string{"repo/x.md": "x"})
	git(t, filepath.Join(outside, "repo"), "init", "-q")
	git(t, filepath.Join(outside, "repo"), "add", "-A")
	git(t, filepath.Join(outside, "repo"), "commit", "-q", "-m", "x")
	commit := git(t, filepath.Join(outside, "repo"), "rev-parse", "HEAD")
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+commit+",sub")
	git(t, dir, "commit", "-q", "-m", "submodule")
	home := t.TempDir()
	hook := "#!/bin/sh\ntouch " + canary + "\n"
	write(t, home, map[string]string{
		".gitconfig": "[filter \"evil\"]\n\tsmudge = touch " + canary + "\n[filter \"lfs\"]\n\tsmudge = touch " + canary +
			"\n[core]\n\thooksPath = " + home + "/hooks\n\tfsmonitor = touch " + canary + "\n[init]\n\ttemplateDir = " + home +
			"/template\n[submodule]\n\trecurse = true\n[uploadpack]\n\tpackObjectsHook = touch " + canary + "\n",
		"hooks/post-checkout*": hook, "hooks/reference-transaction*": hook, "template/hooks/post-checkout*": hook,
	})
	// As the source's own, too.
	write(t, dir, map[string]string{".git/hooks/post-checkout*": hook, ".git/hooks/pre-receive*": hook})
	git(t, dir, "config", "uploadpack.packObjectsHook", "touch "+canary)
	for _, key := range []string{"HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(key, home)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_SSH_COMMAND", "touch "+canary)
	t.Setenv("GIT_TEMPLATE_DIR", filepath.Join(home, "template"))
	w := where(t)
	if _, err := installFrom(t, w, ParseSource("file://"+dir, "")); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(w.dir("my-plugin"), treeDir)
	for path, want := range map[string]string{"a.txt": "one $Id$\n", "big": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"} {
		if got, err := os.ReadFile(filepath.Join(tree, path)); string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("something ran")
	}
	if sub, _ := os.ReadDir(filepath.Join(tree, "sub")); len(sub) > 0 {
		t.Errorf("the submodule was fetched: %v", sub)
	}
	// The sandbox lets git write only to the new directory.
	blob := git(t, dir, "hash-object", "-w", "plugin.json")
	odd := exec.Command("git", "mktree")
	odd.Dir, odd.Stdin = dir, strings.NewReader("100644 blob "+blob+"\t.git\n100644 blob "+blob+"\tplugin.json\n")
	out, err := odd.Output()
	if err != nil {
		t.Fatal(err)
	}
	bad := git(t, dir, "commit-tree", "-m", "bad", strings.TrimSpace(string(out)))
	git(t, dir, "update-ref", "refs/heads/bad", bad)
	if _, err := installFrom(t, where(t), ParseSource("file://"+dir+"@bad", "")); err == nil || !strings.Contains(err.Error(), "invalid path '.git'") {
		t.Errorf("a file named .git: %v", err)
	}
}

// What a plugin can't be, and what of it is omitted. Nothing of it runs when it is added.
func TestHostilePlugins(t *testing.T) {
	claude := func(more string) string { return `{"name":"evil"` + more + `}` }
	for _, c := range []struct {
		name  string
		files map[string]string
		odd   func(dir string) error // makes what write can't
		fails string
		note  string
		has   string // the files that are left
	}{
		{name: "a skill by a link out", files: map[string]string{".claude-plugin/plugin.json": claude(""), "skills/x/SKILL.md -> ../../../secret": ""},
			note: "skills/x/SKILL.md is skipped", has: ".claude-plugin/plugin.json"},
		{name: "a directory by a link out", files: map[string]string{".claude-plugin/plugin.json": claude(""), "commands -> ../outside": ""},
			note: "commands is skipped", has: ".claude-plugin/plugin.json"},
		{name: "an absolute link", files: map[string]string{".claude-plugin/plugin.json": claude(""), "a -> /etc/passwd": ""},
			note: "a is skipped", has: ".claude-plugin/plugin.json"},
		{name: "a loop of links", files: map[string]string{".claude-plugin/plugin.json": claude(""), "a -> b": "", "b -> a": ""},
			note: "a is skipped", has: ".claude-plugin/plugin.json"},
		{name: "a manifest by a link out", files: map[string]string{".claude-plugin/plugin.json -> ../../secret": ""}, fails: "not a plugin"},
		{name: "a link for .git", files: map[string]string{".claude-plugin/plugin.json": claude(""), ".git -> ../outside": "", "sub/.GIT/config": "x"},
			has: ".claude-plugin/plugin.json"},
		{name: "a named pipe", files: map[string]string{".claude-plugin/plugin.json": claude("")},
			odd:  func(dir string) error { return mkfifo(filepath.Join(dir, "pipe")) },
			note: "pipe is skipped", has: ".claude-plugin/plugin.json"},
		{name: "60 MB", files: map[string]string{".claude-plugin/plugin.json": claude("")},
			odd: func(dir string) error {
				return errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o600), os.Truncate(filepath.Join(dir, "x"), 60<<20))
			}, fails: "x is too large"},
		{name: "control characters", files: map[string]string{".claude-plugin/plugin.json": claude(""), "skills/a\x1b[2Jb/SKILL.md": greet}, fails: "invalid file name"},
		{name: "a newline", files: map[string]string{".claude-plugin/plugin.json": claude(""), "a\nb": ""}, fails: "invalid file name"},
		{name: "characters that reorder text", files: map[string]string{".claude-plugin/plugin.json": claude(""), "a\u202eb": ""}, fails: "invalid file name"},
		{name: "invalid UTF-8", files: map[string]string{".claude-plugin/plugin.json": claude(""), "a\xff": ""}, fails: "invalid file name"},
		{name: "a name out of the directory", files: map[string]string{".claude-plugin/plugin.json": `{"name":"../evil"}`}, fails: "invalid name"},
		{name: "a name with control characters", files: map[string]string{".claude-plugin/plugin.json": `{"name":"e\u001bvil"}`}, fails: "invalid name"},
		{name: "commands out of the directory", files: map[string]string{".claude-plugin/plugin.json": claude(`,"commands":"../x"`)}, note: "is ignored", has: ".claude-plugin/plugin.json"},
		{name: "skills at an absolute path", files: map[string]string{".claude-plugin/plugin.json": claude(`,"skills":["/etc"]`)}, note: "is ignored", has: ".claude-plugin/plugin.json"},
		{name: "hooks out of the directory", files: map[string]string{".claude-plugin/plugin.json": claude(`,"hooks":"./../x.json"`)}, fails: "not a path in the plugin"},
		{name: "servers out of the directory", files: map[string]string{".claude-plugin/plugin.json": claude(`,"mcpServers":"../x.json"`)}, note: "not a path in the plugin", has: ".claude-plugin/plugin.json"},
		{name: "a server with control characters", files: map[string]string{".claude-plugin/plugin.json": claude(`,"mcpServers":{"a\u001b":{"command":"x"}}`)}, note: "is ignored: invalid name", has: ".claude-plugin/plugin.json"},
		{name: "invalid hooks", files: map[string]string{".claude-plugin/plugin.json": claude(""), "hooks/hooks.json": `{"hooks":{"PreToolUse":{}}}`}, fails: "must be a list"},
		{name: "hooks that aren't JSON", files: map[string]string{".claude-plugin/plugin.json": claude(""), "hooks/hooks.json": `{`}, fails: "hooks/hooks.json: invalid JSON"},
		{name: "servers of another shape", files: map[string]string{".claude-plugin/plugin.json": claude(`,"mcpServers":[]`)}, note: "mcpServers is ignored: invalid JSON", has: ".claude-plugin/plugin.json"},
		{name: "10 MB of hooks", files: map[string]string{".claude-plugin/plugin.json": claude(""), "hooks/hooks.json": strings.Repeat(" ", 10<<20)}, fails: "too large"},
		{name: "settings for others", files: map[string]string{"qwen-extension.json": claude(`,"permissions":{"allow":["Shell"]},"model":"m","env":{"A":"b"},"settings":[]`)},
			note: "permissions is ignored", has: "qwen-extension.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			src := filepath.Join(parent, "src")
			write(t, parent, map[string]string{"secret": "---\ndescription: SECRET\n---\nSECRET\n", "outside/x.md": "SECRET"})
			write(t, src, c.files)
			if c.odd != nil {
				if err := c.odd(src); err != nil {
					t.Skip(err)
				}
			}
			w := where(t)
			p, err := installFrom(t, w, Source{Text: src})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %v, want %q", err, c.fails)
				}
				if left, _ := os.ReadDir(w.Home); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			all, _, err := readTree(filepath.Join(w.dir("evil"), treeDir))
			var names []string
			for name := range all {
				names = append(names, name)
			}
			if err != nil || strings.Join(names, " ") != c.has || !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
				t.Errorf("%v, %v; notes %q", names, err, p.Notes)
			}
			if len(skills(p))+len(p.Servers)+len(p.Hooks) > 0 {
				t.Errorf("it adds %v %v %v", skills(p), p.Servers, p.Hooks)
			}
		})
	}
}

// Approval is of all files: after any change nothing of a plugin is used, and other plugins are.
func TestChangedAfterApproval(t *testing.T) {
	for name, change := range map[string]func(tree string) error{
		"content":  func(tree string) error { return os.WriteFile(filepath.Join(tree, "run.sh"), []byte("evil"), 0o600) },
		"new file": func(tree string) error { return os.WriteFile(filepath.Join(tree, "skills/x.md"), nil, 0o600) },
		"removed":  func(tree string) error { return os.Remove(filepath.Join(tree, "run.sh")) },
		"link": func(tree string) error {
			return errors.Join(os.Remove(filepath.Join(tree, "run.sh")), os.Symlink("/bin/sh", filepath.Join(tree, "run.sh")))
		},
		"mode":      func(tree string) error { return os.Chmod(filepath.Join(tree, "run.sh"), 0o700) },
		"no tree":   os.RemoveAll,
		"no record": func(tree string) error { return os.Remove(filepath.Join(tree, "..", recordFile)) },
		"record": func(tree string) error {
			return os.WriteFile(filepath.Join(tree, "..", recordFile), []byte("{"), 0o600)
		},
		"renamed": func(tree string) error {
			return os.Rename(filepath.Dir(tree), filepath.Join(filepath.Dir(filepath.Dir(tree)), "other"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := where(t)
			files := map[string]string{
				"plugin.json": manifest(""), "skills/greet/SKILL.md": greet, "run.sh": "true\n",
				"hooks/hooks.json": `{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}`,
			}
			p, err := install(t, w, files)
			if err != nil {
				t.Fatal(err)
			}
			files["plugin.json"] = strings.Replace(files["plugin.json"], "my-plugin", "good", 1)
			if _, err := install(t, w, files); err != nil {
				t.Fatal(err)
			}
			if err := p.Hooks[0].Check(); err != nil {
				t.Error(err)
			}
			if err := change(filepath.Join(w.dir("my-plugin"), treeDir)); err != nil {
				t.Fatal(err)
			}
			usable, notes := Load(w)
			if len(usable) != 1 || usable[0].Name != "good" || len(notes) != 1 {
				t.Errorf("%v, %q", usable, notes)
			}
			if name != "no record" && name != "record" && p.Hooks[0].Check() == nil {
				t.Error("a running session would still run the hook")
			}
		})
	}
}

// A skill that changes while a session runs isn't given to the model.
func TestChangedInASession(t *testing.T) {
	w := where(t)
	p, err := install(t, w, map[string]string{"plugin.json": manifest(""), "skills/greet/SKILL.md": greet})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := contextfiles.Skills(contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}})
	if text, _, err := all[0].Read(); err != nil || text != "Say hello." {
		t.Fatal(text, err)
	}
	write(t, filepath.Join(w.dir("my-plugin"), treeDir), map[string]string{"skills/greet/SKILL.md": greet + "Evil."})
	if text, _, err := all[0].Read(); err == nil || !strings.Contains(err.Error(), "adze plugin update my-plugin") {
		t.Errorf("got %q, %v", text, err)
	}
}

// Hooks of a plugin can deny and ask, but not approve.
func TestHooksCantApprove(t *testing.T) {
	w := where(t)
	p, err := install(t, w, map[string]string{"plugin.json": manifest(""), "hooks/hooks.json": `{"hooks":{
		"PreToolUse":[{"matcher":"write_file","hooks":[{"type":"command","command":"sh ${PLUGIN_ROOT}/say.sh allow"}]},
			{"matcher":"edit","hooks":[{"type":"command","command":"sh ${PLUGIN_ROOT}/say.sh deny"}]}],
		"PermissionRequest":[{"hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}'"}]}]}}`,
		"say.sh": `echo "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"$1\",\"permissionDecisionReason\":\"r\"}}"`,
	})
	if err != nil {
		t.Fatal(err)
	}
	for approving, want := range map[bool]string{false: "none deny none", true: "allow deny allow"} { // the second proves the test
		for i := range p.Hooks {
			p.Hooks[i].NoApproval = !approving
		}
		r := hook.Open(hook.Options{Hooks: p.Hooks, Dir: t.TempDir(), Helper: hook.Helper(helper)})
		run := func(e hook.Event, name string) hook.Verdict {
			return r.Run(context.Background(), hook.Input{Event: e, ToolInput: json.RawMessage(`{}`)}, name).Verdict
		}
		got := fmt.Sprint(run(hook.PreToolUse, "write_file"), run(hook.PreToolUse, "edit"), run(hook.PermissionRequest, "x"))
		if got != want {
			t.Errorf("approving %v: %s, want %s", approving, got, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Remove leaves nothing, also of a plugin that changed, and updates keep the data.
func TestUpdateAndRemove(t *testing.T) {
	w := where(t)
	src := t.TempDir()
	write(t, src, map[string]string{".claude-plugin/plugin.json": `{"name":"a","mcpServers":{"s":{"command":"x"},"t":{"command":"y"}}}`, "run.sh": "one\n"})
	if _, err := installFrom(t, w, Source{Text: src}); err != nil {
		t.Fatal(err)
	}
	write(t, w.Home, map[string]string{
		"plugins/a/data/kept": "", "mcp/manifests/mcp-a_s.json": "", "mcp/logs/mcp-a_s.log": "", "mcp/logs/mcp-a_t.log.old": "",
		"mcp/late/mcp-a_t.json": "", "mcp/manifests/mcp-mine.json": "", "mcp/mcp-tokens.json": `{"a_s":{"url":"u"},"mine":{"url":"v"}}`,
	})
	if err := os.Chmod(filepath.Join(w.Servers, "mcp-tokens.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := installFrom(t, w, Source{Text: src}); err == nil || !strings.Contains(err.Error(), "already installed") {
		t.Errorf("a second time: %v", err)
	}
	write(t, src, map[string]string{".claude-plugin/plugin.json": `{"name":"a","mcpServers":{"s":{"command":"z"}}}`, "run.sh*": "two\n", "new.bin": "\xff\x00"})
	if err := os.Chmod(filepath.Join(src, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, _ := List(w)
	var shown strings.Builder
	update := func(approves error) error {
		shown.Reset()
		return Review(t.Context(), w, all[0].Source, &all[0], &shown, func() error { return approves })
	}
	no := errors.New("no")
	err := update(no)
	for _, want := range []string{`-    MCP server a_t = {"command":"y"`, `-    MCP server a_s = {"command":"x"`, `+    MCP server a_s = {"command":"z"`, "-one\n+two", "run.sh: -rw------- → -rwx------", "new.bin: ---------- → -rw-------"} {
		if !errors.Is(err, no) || !strings.Contains(shown.String(), want) {
			t.Errorf("%v: %q isn't in\n%s", err, want, &shown)
		}
	}
	if now, _ := Load(w); now[0].Servers["a_s"].Command != "x" {
		t.Error("the update counts before it is approved")
	}
	if err := update(nil); err != nil {
		t.Fatal(err)
	}
	if now, notes := Load(w); len(now) != 1 || now[0].Servers["a_s"].Command != "z" {
		t.Errorf("after the update: %v %q", now, notes)
	}
	for path, there := range map[string]bool{"plugins/a/data/kept": true, "mcp/logs/mcp-a_t.log.old": false, "mcp/late/mcp-a_t.json": false, "mcp/logs/mcp-a_s.log": true} {
		if _, err := os.Stat(filepath.Join(w.Home, path)); (err == nil) != there {
			t.Errorf("after the update: %s: %v", path, err)
		}
	}
	write(t, src, map[string]string{".claude-plugin/plugin.json": `{"name":"b"}`})
	if err := update(nil); err == nil || !strings.Contains(err.Error(), "named b now") {
		t.Errorf("another name: %v", err)
	}
	write(t, filepath.Join(w.dir("a"), treeDir), map[string]string{"run.sh": "evil"})
	for _, name := range []string{"../a", "", "nothere"} {
		if err := Remove(t.Context(), w, name); err == nil {
			t.Errorf("removed %q", name)
		}
	}
	if err := Remove(t.Context(), w, "a"); err != nil {
		t.Fatal(err)
	}
	left, _, _ := readTree(w.Home)
	tokens := left["mcp/mcp-tokens.json"].content
	if len(left) != 3 || strings.Contains(tokens, "a_s") || !strings.Contains(tokens, "mine") || left["mcp/manifests/mcp-mine.json"].mode == 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(w.Home, "plugins")); err == nil {
		t.Error("the empty directory is left")
	}
}

// A plugin whose definitions were approved in another form is reviewed again although its files are the same: its skills
// are ignored until then, with the hint to update it.
func TestUpdateOfOlderSeals(t *testing.T) {
	t.Parallel()
	w, src := where(t), t.TempDir()
	write(t, src, map[string]string{".claude-plugin/plugin.json": `{"name":"a"}`, "skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nx"})
	if _, err := installFrom(t, w, Source{Text: src}); err != nil {
		t.Fatal(err)
	}
	all, err := List(w)
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	review := func() string {
		shown.Reset()
		if err := Review(t.Context(), w, all[0].Source, &all[0], &shown, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		return shown.String()
	}
	if text := review(); !strings.Contains(text, "up to date") {
		t.Error(text)
	}
	all[0].Seals = map[string]string{"skills/s/SKILL.md": "front whole"}
	if text := review(); !strings.Contains(text, "Installed a") {
		t.Error(text)
	}
}
