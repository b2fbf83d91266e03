package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The session of another user is not played, although root could read it.
func TestReplayOfAnotherUsersSession(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const id = "11111111-1111-4111-8111-111111111111"
	dir := filepath.Join(home, ".adze", "sessions", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, "journal.jsonl")
	entry := `{"v":1,"seq":1,"at":"2026-11-16T06:00:00Z","type":"session.opened","data":{"id":"` + id + `","cwd":"/"}}` + "\n"
	if err := os.WriteFile(journal, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	replay := func() (int, string) {
		var errs bytes.Buffer
		code := Run(t.Context(), Env{
			Args: []string{"session", "replay", "1111", "--svg", "x.svg"}, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &errs,
			Getenv: func(string) string { return "" }, Dir: home, Home: home,
		})
		return code, errs.String()
	}
	if code, text := replay(); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if os.Getuid() != 0 {
		t.Skip("not root: a file can't be given to another user")
	}
	const nobody = 65534
	if err := os.Chown(journal, nobody, nobody); err != nil {
		t.Skip(err) // in a namespace of one user
	}
	if err := os.Remove(filepath.Join(home, "x.svg")); err != nil {
		t.Fatal(err)
	}
	code, text := replay()
	if code != exitInput || !strings.Contains(text, "belongs to another user (UID 65534)") {
		t.Errorf("exit code %d: %s", code, text)
	}
	left, err := filepath.Glob(filepath.Join(home, "*x.svg")) // nor is anything left of the file
	if more, _ := filepath.Glob(filepath.Join(home, ".adze-replay-*")); err != nil || len(left)+len(more) > 0 {
		t.Errorf("%v %q %q", err, left, more)
	}
}
