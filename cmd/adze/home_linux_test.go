package main

import (
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"
	"testing"
)

// Without HOME, or with an empty one, the home directory is that of the user database: for ~ in rules and commands, for
// settings and for what a command sees.
func TestHomeWithoutHOME(t *testing.T) {
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		t.Skip("this user has no entry in the user database")
	}
	for _, home := range [][]string{nil, {"HOME="}} {
		run := func(words ...string) string {
			cmd := exec.Command("adze", words...)
			cmd.Dir = t.TempDir()
			// ADZE_HOME keeps the test away from the settings of the user who runs it.
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "ADZE_HOME=" + t.TempDir()}, home...)
			out, err := cmd.CombinedOutput()
			if err != nil && words[0] != "permission" { // whose exit status is the verdict
				t.Errorf("%v %v: %v: %s", home, words, err, out)
			}
			return string(out)
		}
		if out := run("tool", "call", "run_shell_command", `{"command":"echo home: $HOME ~"}`, "--yolo"); !strings.Contains(out, "home: "+u.HomeDir+" "+u.HomeDir+"\n") {
			t.Errorf("%v: a command sees %s", home, out)
		}
		if out := run("permission", "check", "--deny", "Read(~/.ssh/**)", "--", "cat ~/.ssh/x"); !strings.HasPrefix(out, "deny\n") || !strings.Contains(out, u.HomeDir+"/.ssh/x") {
			t.Errorf("%v: %s", home, out)
		}
	}
	cmd := exec.Command("adze", "doctor")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "settings: "+u.HomeDir+"/.adze/settings.json") { // which may hold anything
		t.Errorf("doctor: %s", out)
	}
}

// A user without HOME and without an entry in the user database gets a notice, and works without user settings. Nothing
// in the current directory passes for them.
func TestNoHomeAtAll(t *testing.T) {
	const otherUID = 54321
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	if _, err := user.LookupId("54321"); err == nil {
		t.Skip("user 54321 exists")
	}
	dir, err := os.MkdirTemp("", "adze-homeless-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := plainProgram(t)
	for name, text := range map[string]string{
		"settings.json": `{"tools":{"approvalMode":"yolo"}}`, "agents/helper.md": "---\nname: helper\ndescription: helps\n---\nHelp.\n",
	} {
		path := dir + "/.qwen/" + name
		if err := os.MkdirAll(path[:strings.LastIndex(path, "/")], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	run := func(env string, words ...string) string {
		cmd := exec.Command(program, words...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, env}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID}}
		out, err := cmd.CombinedOutput()
		if err != nil && words[0] != "doctor" { // which finds no model
			t.Errorf("%v: %v: %s", words, err, out)
		}
		return string(out)
	}
	const why = "adze: no home directory: HOME is not set, and user 54321 has no entry in /etc/passwd\nContinuing without user settings"
	if out := run("", "tool", "call", "run_shell_command", `{"command":"echo fine"}`); !strings.HasPrefix(out, why) || !strings.Contains(out, "Output: fine\n") {
		t.Error(out)
	}
	if out := run("", "doctor"); !strings.Contains(out, "approval mode: default") || strings.Contains(out, "agents\n  helper") {
		t.Error(out)
	}
	if out := run("", "version"); strings.Contains(out, "home") {
		t.Error(out)
	}
	if out := run("ADZE_HOME="+dir+"/state", "doctor"); strings.Contains(out, why) || strings.Contains(out, "agents\n  helper") || strings.Contains(out, "no such file") {
		t.Error(out)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "adze-home-") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}
