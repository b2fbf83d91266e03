package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// otherUsersTokens has the program, as another user, find a token file that is not that user's: it must not take it.
func otherUsersTokens(t *testing.T, h house, call []string) {
	if os.Geteuid() != 0 {
		t.Log("not root: what another user may do is not tried")
		return
	}
	dir, err := os.MkdirTemp("", "adze-other-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if out, err := exec.Command("cp", "-r", h.home+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("chown", "-R", "65534:65534", dir).CombinedOutput(); err != nil {
		t.Skipf("files cannot be given away here: %s", out)
	}
	program := plainProgram(t)
	tokens := filepath.Join(dir, "mcp", "mcp-tokens.json")
	if err := os.Chown(tokens, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tokens, 0o644); err != nil { // so that it could be read
		t.Fatal(err)
	}
	run := func() string {
		cmd := exec.Command(program, call...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "ADZE_HOME="+dir, "TMPDIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("the call succeeded: %s", out)
		}
		return string(out)
	}
	if out := run(); !strings.Contains(out, "it is owned by another user (UID 0). Delete the file and log in again") {
		t.Error(out)
	}
	if err := os.Chown(tokens, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if out := run(); !strings.Contains(out, "it is readable by other users (mode 0644)") {
		t.Error(out)
	}
}
