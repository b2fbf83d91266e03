package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Hooks that are on npm, as users configure them: what they deny does not run, and what they let pass does.
func TestHooksFromNPM(t *testing.T) {
	engine := node(t)
	bin := func(path string) string {
		abs, err := filepath.Abs(filepath.Join("node_modules", path))
		if err != nil {
			t.Fatal(err)
		}
		return "'" + engine + "' '" + abs + "'"
	}
	safety := bin("cc-safety-net/dist/bin/cc-safety-net.js") + " hook --claude-code"
	verify := bin("block-no-verify/dist/cli.js")
	for _, tt := range []struct {
		name, command string
		hooks         []string
		denied        string // by a hook, with this reason; "": it runs
	}{
		{"safety net denies", "git reset --hard && touch ran", []string{safety}, "git reset --hard destroys"},
		{"safety net lets pass", "git status && touch ran", []string{safety}, ""},
		{"block-no-verify denies", "touch ran && git commit --allow-empty --no-verify -m x", []string{verify}, "--no-verify flag is not allowed"},
		{"block-no-verify lets pass", "touch ran && git commit --allow-empty -m x", []string{verify}, ""},
		{"both, one denies", "touch ran && git commit --allow-empty --no-verify -m x", []string{safety, verify}, "--no-verify flag is not allowed"},
		{"both, the other denies", "git reset --hard && touch ran", []string{safety, verify}, "git reset --hard destroys"},
		{"both let pass", "touch ran", []string{safety, verify}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := adze(t)
			var hooks []object
			for _, command := range tt.hooks {
				hooks = append(hooks, object{"type": "command", "command": command})
			}
			p.settings(filepath.Join(p.home, "settings.json"), object{
				"tools": object{"approvalMode": "yolo", "sandbox": "off"},
				"hooks": object{"PreToolUse": []object{{"matcher": "Bash", "hooks": hooks}}},
			})
			for _, args := range [][]string{{"init", "-q"}, {"config", "user.email", "t@example.com"}, {"config", "user.name", "t"}} {
				if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			stdout, stderr, err := p.run("tool", "call", "run_shell_command", string(raw(t, object{"command": tt.command})))
			_, ran := os.Stat(filepath.Join(p.dir, "ran"))
			if tt.denied == "" && (err != nil || ran != nil) {
				t.Errorf("it didn't run: %v\n%s%s", err, stdout, stderr)
			}
			if tt.denied != "" && (err == nil || ran == nil || !strings.Contains(stdout+stderr, tt.denied)) {
				t.Errorf("it wasn't denied: %v\n%s%s", err, stdout, stderr)
			}
		})
	}
}
