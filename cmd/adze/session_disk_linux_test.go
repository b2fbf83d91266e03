package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// On a full disk and on one that is read-only the work continues, with one warning in each run: a new session, one that
// continues, and a copy of one. Reading needs no space. ADZE_HOME is its own disk, in a mount namespace.
func TestSessionsOnAFullDisk(t *testing.T) {
	t.Parallel()
	script := openaitest.Script{Repeat: true, Answers: []openaitest.Answer{{Text: "the answer"}}}
	server := openaitest.Serve(t, script)
	home := t.TempDir()
	const id = "123e4567-e89b-42d3-a456-426614174000"
	steps := fmt.Sprintf(`
run() { echo "== $1"; shift; adze "$@" </dev/null || echo "exit $?"; }
mount -t tmpfs -o size=400k adze "$ADZE_HOME" || exit 9
run first -p 'the first prompt' --session-id %[1]s
cat /dev/zero >"$ADZE_HOME/fill" 2>/dev/null
run 'full, new' -p go
run 'full, listed' session list --json
run 'full, shown' session show %[1]s
rm "$ADZE_HOME/fill"
run 'space again' -r %[1]s -p 'the second prompt'
mount -o remount,ro "$ADZE_HOME" || exit 9
run 'read-only, new' -p go
run 'read-only, continued' -c -p go
run 'read-only, copied' -c --fork-session -p go
run 'read-only, shown' session show %[1]s
run 'read-only, deleted' session delete %[1]s
`, id)
	cmd := exec.Command("bash", "-c", steps)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "ADZE_HOME="+home, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=", "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	text, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() == 9) {
		t.Skipf("no disk of its own: %v: %s", err, text)
	}
	got := map[string]string{}
	for part := range strings.SplitSeq(string(text), "== ") {
		name, out, _ := strings.Cut(part, "\n")
		got[name] = out
	}
	for name, want := range map[string]struct {
		text     string
		warnings int
	}{
		"first":                {"the answer", 0},
		"full, new":            {"no space left on device", 1},
		"full, listed":         {"the first prompt", 0},
		"full, shown":          {"the answer", 0},
		"space again":          {"the answer", 0},
		"read-only, new":       {"read-only file system\nthe answer\n", 1},
		"read-only, continued": {"read-only file system\nthe answer\n", 1},
		"read-only, copied":    {"read-only file system\nthe answer\n", 1},
		"read-only, shown":     {"the second prompt", 0},
		"read-only, deleted":   {"read-only file system", 0},
	} {
		if n := strings.Count(got[name], "the session is no longer recorded"); n != want.warnings || !strings.Contains(got[name], want.text) {
			t.Errorf("%s: want %q and %d warnings:\n%s", name, want.text, want.warnings, got[name])
		}
	}
	requests := server.Requests()
	if len(requests) < 2 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests[len(requests)-2:] { // continued and copied
		if !strings.Contains(string(r.Body), "the second prompt") {
			t.Errorf("a session on a read-only disk continues with %.300s", r.Body)
		}
	}
}
