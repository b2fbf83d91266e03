package environ_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/environ"
)

func TestAutoApproved(t *testing.T) {
	env := environ.AutoApproved([]string{
		"PATH=/usr/bin:.:/w/bin::/bin:node_modules/.bin", "HOME=/h", "BASH_ENV=/w/x", "OPENAI_API_KEY=k", "GIT_EXTERNAL_DIFF=x", "BASH_FUNC_ls%%=() { x; }", "LC_ALL=C", "LD_PRELOAD=x", "GIT_CONFIG_COUNT=1",
	}, "/w")
	seen := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := seen[name]; twice {
			t.Errorf("%s twice", name)
		}
		seen[name] = value
	}
	if seen["PATH"] != "/usr/bin:/bin" || seen["HOME"] != "/h" || seen["LC_ALL"] != "C" {
		t.Errorf("%v", seen)
	}
	for _, name := range []string{"BASH_ENV", "OPENAI_API_KEY", "GIT_EXTERNAL_DIFF", "BASH_FUNC_ls%%", "LD_PRELOAD"} {
		if _, ok := seen[name]; ok {
			t.Errorf("%s was kept", name)
		}
	}
}

// A directory of PATH that leads into the workspace, or has a common command that does, is omitted: ls ran what the
// workspace had put there. So is one with a link to what doesn't exist yet: a command could create it.
func TestPathLeadsIntoTheWorkspace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "w")
	var path []string
	for _, d := range []string{"w/bin", "plain", "tools", "linked", "later", "round", "own"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		path = append(path, filepath.Join(dir, d))
	}
	path = append(path, filepath.Join(dir, "into"))
	for _, link := range [][2]string{{"w/bin", "into"}, {"../w/evil", "linked/ls"}, {"../w/cli", "tools/my-own-cli"}, {"via/ls", "later/ls"},
		{"../w/not/yet", "later/via"}, {"ls", "round/ls"}, {"../tools/rg", "own/rg"}} {
		if err := os.Symlink(filepath.FromSlash(link[0]), filepath.Join(dir, link[1])); err != nil {
			t.Skip("no links here:", err)
		}
	}
	for _, file := range []string{"w/evil", "w/cli", "tools/rg"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := environ.AutoApproved([]string{"PATH=" + strings.Join(path, string(filepath.ListSeparator))}, root)
	want := "PATH=" + strings.Join([]string{filepath.Join(dir, "plain"), filepath.Join(dir, "tools"), filepath.Join(dir, "own")}, string(filepath.ListSeparator))
	if !slices.Contains(env, want) {
		t.Errorf("%s, want %s", env[0], want)
	}
}

// A tried command got every variable but those whose name was on a list.
func TestTried(t *testing.T) {
	secret := func(kv string) bool { return strings.Contains(kv, "SECRET") }
	env, withheld := environ.Unapproved{
		Roots: []string{"/w"}, Tried: true, Secret: secret, Pass: []string{"MINE", "SET=new", "GIVEN=1", "LISTED_TOO", "MADE=SECRET"},
	}.Environ([]string{
		"PATH=/w/bin:/bin", "HOME=/h", "CC=clang", "GOFLAGS=-mod=mod", "LANG=ja_JP.SJIS", "LC_ALL=C", "MINE=1", "SET=old", "LISTED_TOO=SECRET", "GOPROXY=SECRET",
		"DATABASE_URL=x", "GITHUB_PAT=x", "DISPLAY=:0", "XDG_RUNTIME_DIR=/r", "SSH_AUTH_SOCK=/s", "BASH_FUNC_x%%=() { :; }", "https_proxy=p", "cc=x", "=x", "odd",
	})
	want := []string{"PATH=/w/bin:/bin", "HOME=/h", "CC=clang", "GOFLAGS=-mod=mod", "LANG=ja_JP.SJIS", "LC_ALL=C", "MINE=1", "SET=new", "GIVEN=1"}
	if !slices.Equal(env, want) {
		t.Errorf("%q, want %q", env, want)
	}
	if want := []string{"DATABASE_URL", "GITHUB_PAT", "GOPROXY", "LISTED_TOO", "MADE", "cc", "odd"}; !slices.Equal(withheld, want) {
		t.Errorf("withheld %q, want %q", withheld, want)
	}
}
