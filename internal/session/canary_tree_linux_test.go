package session_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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

// discloses reports whether a text contains a canary: as it is, in another case, reversed, spaced out, in hexadecimal or
// in base64.
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
