//go:build linux

package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// unlisted is a disk on which no folder can be listed, so that each name is looked at.
type unlisted struct{ permission.Disk }

func (unlisted) List(string) ([]string, bool) { return nil, false }

// Names that no rule mentions are judged by one that stands for them all. That changes nothing: each looked at by
// itself, the verdict and all that is said of it are the same.
func TestAbsentNamesAreAlike(t *testing.T) {
	dir := furnishedFolder(t)
	home := filepath.Join(dir, "home")
	disk := ondisk.New([]string{filepath.Join(dir, "app")})
	names := []string{
		"README.md", "readme.MD", "keys", "leak", "sub", "out", ".env", "prod.env", "id_rsa", "x.pem", "Jenkinsfile", "mcp.json", "secrets", "gen.go", "main.go",
		"huskyrc.js", "credentials.json", "workflows", "hooks", "state", "notes", "a b", "a:b", "credentials.json:x", "end.", "end ", "é", "tab\tbed", "..", ".",
		"sub/new", "sub/.env", "leak/new", "out/new", "gone/new", ".git/hooks", ".github/workflows", "-x", "app", "home", "etc", "*", "n?w", "back\\slash",
	}
	rules := []string{
		"Read(secrets/**)", "Read(.env)", "Edit(*.go)", "Read(gen*)", "Edit(sub/**)", "Read(**/notes)", "Edit(/n[aeiou]w)", "Read(~/x)", "Read(//etc/hosts)",
		"Read", "Edit", "Edit(..)", "Read(new)", "Read(sub/*)", "Edit(**)", "Edit(state/)", "Shell(rm)", "mcp__x", "Read(app)",
	}
	some := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.SampledFrom(names), rapid.StringMatching(`[a-z]{1,3}[0-9]{1,2}(\.[a-z]{2,3})?`))
		line := rapid.SampledFrom([]string{"cat", "grep -n x", "rm", "mytool", "python3 -c", "cp -t sub", "git add", "touch", "head -n1", "rm -r", "cp -r", "grep -rn x", "rg x", "tar cf x.tar", "ls", "wc"}).Draw(t, "command")
		inOne := strings.HasPrefix(line, "python")
		folder := rapid.SampledFrom([]string{"", "./", "sub/", "leak/", "out/", "../home/", ".git/", "gone/", "state/"}).Draw(t, "folder")
		var words []string
		for _, w := range rapid.SliceOfN(word, 20, 60).Draw(t, "words") {
			if w = folder + w; !inOne {
				w = "'" + w + "'"
			}
			words = append(words, w)
		}
		text := strings.Join(words, " ")
		if inOne {
			text = "'open(" + strings.Join(words, "), open(") + ")'"
		}
		line += " " + text
		r := tool.Request{
			Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
			Invocation:  tool.Invocation{Access: []tool.Access{execs(line)}, Confirm: tool.Command{Line: line, Directory: filepath.Join(dir, "app")}},
		}
		world := permission.World{Roots: []string{filepath.Join(dir, "app")}, Home: home, State: filepath.Join(dir, "app", "state"), Disk: disk}
		world = world.Patient()
		all := parse(t, some.Draw(t, "allow"), some.Draw(t, "ask"), some.Draw(t, "deny"))
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		type answer struct {
			Decision tool.Decision
			Why      []string
		}
		var got, want answer
		got.Decision, got.Why = permission.Check(world, all, mode, permission.Options{}, r)
		world.Disk = func() permission.Disk { return unlisted{disk()} }
		want.Decision, want.Why = permission.Check(world, all, mode, permission.Options{}, r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s:\n%s", line, diff)
		}
	})
}

// furnishedFolder has what a name may lead to: files, folders, links to secrets and out of the workspace.
func furnishedFolder(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app/README.md", "app/sub/x", "app/.git/HEAD", "app/state/settings.json", "home/.ssh/id_rsa", "home/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"keys": "../home/.ssh/id_rsa", "leak": "../home", "out": "/etc", "new1": ".env"} {
		if err := os.Symlink(to, filepath.Join(dir, "app", name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
