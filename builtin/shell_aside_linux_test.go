package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// A repository that a sandboxed command created is moved aside before the next result, whichever command is still running.
// The user's own stay.
func TestRepositoriesAside(t *testing.T) {
	dir := t.TempDir()
	x := sandboxedIn(t, dir, Sandbox{Mode: "workspace"}, tool.Allow, nil)
	plant := func(name string) string {
		return "mkdir -p " + name + "/objects " + name + "/refs; echo 'ref: refs/heads/x' > " + name + "/HEAD; "
	}
	is := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(dir, name, "HEAD")); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	run := func(line string, background bool) string {
		t.Helper()
		return call(t, x, "run_shell_command", args{"command": line, "is_background": background}).Result.Text()
	}
	says := func(text, name string) {
		t.Helper()
		if !strings.Contains(text, "A command created "+filepath.Join(dir, name)+",") || !strings.Contains(text, "/aside/") {
			t.Errorf("%s isn't reported: %s", name, text)
		}
	}
	says(run(plant("a/.git"), false), "a/.git")
	is("a/.git", false)

	put(t, dir, map[string]string{"mine/.git/HEAD": "x", "mine/.git/objects/x": "", "mine/.git/refs/x": ""})
	if text := run("echo x > b", false); strings.Contains(text, "created") {
		t.Error(text)
	}
	is("mine/.git", true)

	// A background command, while it runs.
	text := run(plant("bg/.git")+"echo ready; sleep 600", true)
	for range 100 {
		if text += call(t, x, "shell_output", args{"id": "bg_1", "wait": 20000}).Result.Text(); strings.Contains(text, "ready") {
			break
		}
	}
	says(text, "bg/.git")
	is("bg/.git", false)
	// A result of another command.
	run("until [ -e go2 ]; do sleep 0.05; done; "+plant("late")+"echo > done; sleep 600", true)
	says(run("echo > go2; until [ -e done ]; do sleep 0.05; done", false), "late/HEAD")
	is("late", false)
	is("mine/.git", true)
	// The end of one.
	run("until [ -e go3 ]; do sleep 0.05; done; "+plant("end")+"echo > done3; sleep 600", true)
	put(t, dir, map[string]string{"go3": ""})
	for range 2000 {
		if _, err := os.Stat(filepath.Join(dir, "done3")); err == nil {
			break
		}
		run("sleep 0.05", false)
	}
	call(t, x, "shell_stop", args{"id": "bg_3"})
	is("end", false)
}
