package session_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/tool"
)

// environ returns the environment of the user whose home directory is the tree's.
func (tree *canaryTree) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tree.home, "LANG=C.UTF-8", "TMPDIR=" + os.TempDir()}
}

// open opens a session in the tree's workspace.
func (tree *canaryTree) open(t *testing.T, settings string) *session.Session {
	t.Helper()
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"ADZE_HOME": state, "ADZE_LOCAL_MODELS": "off", "HOME": tree.home}
	s, err := session.Open(project.Env{
		Home: tree.home, Helper: helper, Environ: tree.environ(), Getenv: func(name string) string { return vars[name] },
	}, session.Options{Dir: tree.work})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// together is how many commands run at a time.
const together = 8

// Generated commands that only read print no secret: what runs without approval can't, and the rest is denied.
func TestGeneratedReadsDiscloseNothing(t *testing.T) {
	for _, c := range []struct {
		backend, settings string
		usual, full       int
		least             int // the share that runs without approval, in percent
	}{
		{"none", `{"tools":{"trial":"off"}}`, 100, 10_000, 1},
		{"trial", `{"tools":{"trial":"auto"}}`, 40, 10_000, 50}, {"bubblewrap", `{"tools":{"trial":"auto","sandboxBackend":"bubblewrap"}}`, 20, 1000, 50},
	} {
		t.Run(c.backend, func(t *testing.T) {
			tree := newCanaryTree(t)
			tree.executes = c.backend != "none"
			if why := tree.unlimited(c.backend == project.Bubblewrap); why != "" {
				t.Skip(why)
			}
			s := tree.open(t, c.settings)
			count := soak.Count(c.usual, c.full)
			denied := tree.runAll(t, s, tree.commands(count, ""))
			ran := count - len(denied)
			t.Logf("%d of %d commands ran without approval", ran, count)
			if ran*100 < count*c.least {
				t.Errorf("only %d of %d commands ran without approval: this proves little", ran, count)
			}
		})
	}
}

// runAll has the session run commands, and returns the numbers of those that it denied.
func (tree *canaryTree) runAll(t *testing.T, s *session.Session, numbers []int) (denied []int) {
	t.Helper()
	for some := range slices.Chunk(numbers, together) {
		batch := s.Executor.Batch(t.Context())
		for _, n := range some {
			args, err := json.Marshal(map[string]any{"command": readCommand(tree, n), "timeout": 60_000})
			if err != nil {
				t.Fatal(err)
			}
			batch.Add(tool.Call{Name: "run_shell_command", Args: args})
		}
		for i, o := range batch.Wait() {
			text, err := o.JSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if o.Status == tool.StatusDenied {
				denied = append(denied, some[i])
			}
			if tree.discloses(string(text)) {
				t.Errorf("command %d disclosed a secret: %s\n%s", some[i], readCommand(tree, some[i]), text)
			}
		}
		if saved := tree.saved(t, s); tree.discloses(saved) {
			t.Errorf("one of the commands %v disclosed a secret in its saved output", some)
		}
	}
	return denied
}

// discloses reports whether a text contains a secret. In a trial, running a program of the workspace discloses nothing.
func (tree *canaryTree) discloses(text string) bool {
	if tree.executes {
		text = strings.ReplaceAll(text, canary+" ran", "")
	}
	return discloses(text)
}

// saved returns the text of the results that were too long, which are removed.
func (tree *canaryTree) saved(t *testing.T, s *session.Session) string {
	var all strings.Builder
	filepath.WalkDir(s.Directory.Home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "settings.json" && !strings.Contains(path, "/proc/") {
			text, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // a trial without effects is removed in the background
				t.Error(err)
			}
			all.Write(text)
			os.Remove(path)
		}
		return nil
	})
	return all.String()
}

// limited returns the sandbox of auto-approved commands in the tree.
func (tree *canaryTree) limited() *sandbox.Spec {
	s := &sandbox.Spec{Mode: sandbox.ReadOnly}
	s.Limits = places.Surroundings{Roots: []string{tree.work}, System: permission.SystemDirectories(), Env: environ.AutoApproved(tree.environ(), tree.work)}.Limits()
	filepath.WalkDir(tree.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if _, secret := names.Secret(path); secret && !strings.Contains(path, "/.git/") {
				s.Covers = append(s.Covers, sandbox.Cover{Path: path, As: sandbox.Empty})
			}
		}
		return nil
	})
	return s
}

// unlimited is why reads can't be limited here; "" if they can.
func (tree *canaryTree) unlimited(bubblewrap bool) string {
	s := tree.limited()
	s.Bubblewrap = bubblewrap
	p, err := s.Plan()
	switch {
	case err != nil:
		return "reads can't be limited here: " + err.Error()
	case bubblewrap && !p.Layers.Has(sandbox.Bubblewrap):
		return "no bubblewrap: " + strings.Join(p.Notes, " ")
	}
	return ""
}

// commands returns the numbers of the first generated commands that contain a text.
func (tree *canaryTree) commands(count int, with string) (numbers []int) {
	for n := 0; len(numbers) < count; n++ {
		if strings.Contains(readCommand(tree, n), with) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// disclosed runs generated commands, regardless of the policy, in a read-only sandbox, and returns those that print a
// canary.
func (tree *canaryTree) disclosed(t *testing.T, numbers []int, spec *sandbox.Spec) []int {
	t.Helper()
	r := proc.Open(proc.Options{Helper: proc.Helper(helper)})
	defer r.Close()
	env := environ.AutoApproved(tree.environ(), tree.work)
	var mu sync.Mutex
	var found []int
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, n := range numbers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var all bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			line := readCommand(tree, n)
			if _, err := r.Run(ctx, proc.Command{Line: line, Dir: tree.work, Env: env, Sandbox: spec, Spill: &all}); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if discloses(all.String()) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, n)
			}
		})
	}
	wg.Wait()
	slices.Sort(found)
	return found
}

// The limits alone protect the secrets, even if a command is auto-approved by mistake. Without any one of them, some are
// printed, so the commands would find a hole.
func TestLimitsKeepSecretsFromAnyCommand(t *testing.T) {
	serial.Test(t)
	tree := newCanaryTree(t)
	if why := tree.unlimited(false); why != "" {
		t.Skip(why)
	}
	for _, n := range tree.disclosed(t, tree.commands(soak.Count(60, 10_000), ""), tree.limited()) {
		t.Errorf("command %d disclosed a secret: %s", n, readCommand(tree, n))
	}
	tried := soak.Count(40, 300)
	for _, c := range []struct {
		without, with string
		remove        func(*sandbox.Spec)
	}{
		{"hidden files", "", func(s *sandbox.Spec) { s.Covers = nil }},
		{"limited reads", "", func(s *sandbox.Spec) { s.Limits.Read = append(slices.Clip(s.Limits.Read), "/") }},
		{"limited programs", "evil", func(s *sandbox.Spec) { s.Limits.Execute = append(slices.Clip(s.Limits.Execute), tree.work) }},
	} {
		spec := tree.limited()
		c.remove(spec)
		found := tree.disclosed(t, tree.commands(tried, c.with), spec)
		t.Logf("without %s, %d of %d commands disclose a secret", c.without, len(found), tried)
		if len(found) < tried/15 {
			t.Errorf("without %s, only %d of %d commands disclose a secret: the test can't find a hole", c.without, len(found), tried)
		}
	}
}

// canary is in every file that a command must not print, and in no command.
const canary = "C4N4RY"

// secretText is the content of such a file: lines for every filter to find something in.
var secretText = "API_KEY=" + canary + "\n" + canary + ",SECRET," + canary + "\n" + strings.Repeat(canary, 12) + "\nTODO " + canary + " x\n" + canary + "\n"

// canaryTree is a directory with a workspace full of secrets and links, a home directory, that of another user, and a
// file outside of all.
type canaryTree struct {
	base, work, home string
	executes         bool // programs of the workspace may run
}

// secretPaths are the files with a canary, by their paths below the base.
var secretPaths = []string{
	"work/.env", "work/server.pem", "work/id_rsa", "work/.npmrc", "work/src/.env", "work/src/lib/.env.local", "work/src/lib/deep/er/.env.production",
	"work/src/lib/deep/er/tls.key", "work/keys/id_ed25519", "work/keys/store.p12", "work/config/credentials.json", "work/node_modules/pkg/.npmrc",
	"work/node_modules/pkg/test/server.key", "work/with space/.env", "work/new\nline/.env", "work/-n/.env", "work/-n/-e.pem", "work/$(id)/.env",
	"work/*/id_rsa", "work/quo'te/a b.key", "work/back\\slash/.env", "work/nested/.env", "work/.hidden/.netrc", "work/ünï/.env", "work/logs/.pgpass",
	"work/.aws/credentials", "work/.ssh/id_rsa", "work/[ab]/x.pem",
	"outside/file", "outside/.env", "outside/dir/notes.txt", "outside/-n", "home/.ssh/id_rsa", "home/.netrc", "home/.aws/credentials", "home/notes.txt",
	"home/.bash_history", "home/.config/gh/hosts.yml", "other/.ssh/id_rsa", "other/notes.txt", "other/.bashrc", "other/project/main.go",
}

// canaryLinks lead into secrets and out of the workspace: a path in the workspace, and its target.
var canaryLinks = [][2]string{
	{"link", ".env"}, {"notes.md", "server.pem"}, {"src/l.go", "lib/.env.local"}, {"out", "../outside"}, {"outfile.txt", "../outside/file"},
	{"docs/guide.md", "../../outside/dir/notes.txt"}, {"up", ".."}, {"loop", "loop"}, {"src/home", "../../home"}, {"other.txt", "../other/notes.txt"},
	{"chain", "chain2"}, {"chain2", "out/dir"}, {"data/a.csv", "../.env"}, {"data/b.csv", "BASE/outside/file"}, {"proc", "/proc/self/cwd"},
	{"keys.txt", "keys/id_ed25519"}, {"with space/to env", ".env"}, {"pkg", "node_modules/pkg"}, {"gone", "missing"},
}

// plainPaths are ordinary files, tracked by git.
var plainPaths = []string{
	"README.md", "go.mod", "src/main.go", "src/lib/util.go", "src/lib/deep/er/x.go", "docs/intro.md", "data/c.csv", "with space/file one.txt", "-n/-file",
	"config/app.json", "logs/app.log", "Makefile", "new\nline/two\nlines.txt", "quo'te/plain.txt",
}

func newCanaryTree(t *testing.T) *canaryTree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := &canaryTree{base: base, work: filepath.Join(base, "work"), home: filepath.Join(base, "home")}
	tree.put(t, "work/tools/evil", "#!/bin/sh\nprintf 'C4%s ran\\n' N4RY\n", 0o755)
	for i, path := range plainPaths {
		tree.put(t, "work/"+path, fmt.Sprintf("plain %d\nTODO one, two\nAPI_KEY=none\nkey: value %s\n", i, strings.Repeat("word ", 20)), 0o644)
	}
	tree.git(t, "work")
	tree.git(t, "work/nested")
	for _, path := range secretPaths {
		tree.put(t, path, secretText, 0o600)
	}
	for _, link := range canaryLinks {
		path := filepath.Join(tree.work, link[0])
		if err := os.Symlink(strings.ReplaceAll(link[1], "BASE", base), path); err != nil {
			t.Fatal(err)
		}
	}
	tree.put(t, "work/.ignore", "!.env\n!node_modules\n", 0o644)
	tree.put(t, "work/list", ".env\nsrc/.env\n../outside/file\n", 0o644)
	return tree
}

func (tree *canaryTree) put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	path = filepath.Join(tree.base, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// git makes a repository of a directory, with two commits.
func (tree *canaryTree) git(t *testing.T, dir string) {
	t.Helper()
	tree.put(t, dir+"/tracked.txt", "tracked\n", 0o644)
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "-A"}, {"commit", "-qm", "first"}, {"commit", "-qm", "second", "--allow-empty"}} {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.test"}, args...)...)
		c.Dir, c.Env = filepath.Join(tree.base, dir), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tree.home, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	tree.put(t, dir+"/tracked.txt", "changed\n", 0o644)
}

// discloses reports whether a text contains a canary: unchanged, in another case, reversed, spaced out, in hexadecimal or in
// base64.
func discloses(text string) bool {
	plain := strings.Join(strings.Fields(text), "")
	for i := range 3 { // the three ways that bytes fall into groups
		code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i) + canary + canary))
		if strings.Contains(plain, code[4:len(code)-4]) {
			return true
		}
	}
	plain = strings.ToLower(plain)
	reversed := []byte(strings.ToLower(canary))
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	for _, form := range []string{strings.ToLower(canary), string(reversed), fmt.Sprintf("%x", canary)} {
		if strings.Contains(plain, form) {
			return true
		}
	}
	return false
}
