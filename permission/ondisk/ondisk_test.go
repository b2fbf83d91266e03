//go:build unix

package ondisk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// A link leads where it leads, whatever its name says.
func TestLinks(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "app")
	for _, d := range []string{root + "/src", home + "/.ssh", home + "/other/deep"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{root + "/a.txt", root + "/src/b.txt", home + "/.ssh/id_rsa", home + "/other/notes.txt"} {
		if err := os.WriteFile(f, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"key.txt": home + "/.ssh/id_rsa", "out": home + "/other/deep", "in": "src", "loop": "loop", "src/up": "..", "src/key.txt": "../../.ssh/id_rsa",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := permission.New(permission.World{Roots: []string{root}, Home: home, Disk: ondisk.Disk{}}, permission.Default)
	for line, want := range map[string]tool.Verdict{
		"cat a.txt": tool.Allow, "cat src/b.txt": tool.Allow, "cat in/b.txt": tool.Allow, "cat src/up/a.txt": tool.Allow, "cd in && cat b.txt": tool.Allow,
		"cat key.txt": tool.Ask, "cat out/x": tool.Ask, "cat out/../notes.txt": tool.Ask, "ls out": tool.Ask, "cd out && ls": tool.Ask,
		"cat loop": tool.Ask, "cat *.txt": tool.Ask, "cat src/*.txt": tool.Ask, "cat a*.txt": tool.Allow, "cat src/key.txt": tool.Ask, "cat < key.txt": tool.Ask,
		"cat in/key.txt": tool.Ask, "cd src && cat up/key.txt": tool.Ask, "cat missing.txt": tool.Allow, "grep -r x src": tool.Allow, "grep -R x src": tool.Ask,
		"grep -r x .": tool.Allow, "diff -r src in": tool.Ask, "git status": tool.Allow, "ls *": tool.Ask, "ls src/b*": tool.Allow, "echo src/b*": tool.Allow, "echo ../*": tool.Ask, "ls .*": tool.Ask, "ls .[a-z]*": tool.Allow,
	} {
		r := tool.Request{
			Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
			Invocation:  tool.Invocation{Access: []tool.Access{{Verb: tool.Execs, Target: line}}, Confirm: tool.Command{Line: line, Directory: root}},
		}
		if d := p.Judge(r); d.Verdict != want {
			t.Errorf("%s: %v, want %v: %s", line, d.Verdict, want, d.Reason)
		}
	}
	if err := os.WriteFile(root+"/src/.env", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := (ondisk.Disk{}).Secret(root, false); got != root+"/src/.env" {
		t.Errorf("secret: %q", got)
	}
}

func TestProgram(t *testing.T) {
	for config, want := range map[string]bool{
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/external.git\n\tfetch = +refs\n[branch \"main\"]\n\tremote = origin\n[user]\n\tname = command\n": false,
		"[core]\n\tfsmonitor = ./x\n": true, "[core] fsmonitor=./x": true, "[CORE]\nFsMonitor = true": true, "[core]\nfsmonitor": true, "[core]\nfsmonitor = false\n": false,
		"[diff]\nexternal=x": true, "[diff \"a\"]\n textconv = x": true, "[diff \"a\"]\n command = x": true, "[filter \"a\"]\nclean = x": true, "[filter \"a\"]\nprocess=x": true,
		"[include]\npath=x": true, "[includeIf \"gitdir:x\"]\npath=x": true, "[core]\nworktree = /": true, "[remote \"o\"]\npromisor = true": true, "[pager]\nlog=x": true,
		"\ufeff[core]fsmonitor=x": true, "[gpg]\nprogram=x": true, "[format]\npretty=%G?": true, "[format]\npretty=%h": false, "[alias]\nst = status\n": false, "": false,
	} {
		if got := ondisk.Program(config); (got != "") != want {
			t.Errorf("%q: %q", config, got)
		}
	}
}
