//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A kill -9 during adze undo leaves each file old or new, and a second undo finishes it.
func TestUndoIsKilled(t *testing.T) {
	t.Parallel()
	const files = 500
	const command = `for f in *.go; do echo new > $f; done; rm -r dir; echo file > dir`
	server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{{ID: "c1", Name: "run_shell_command", Args: fmt.Appendf(nil, `{"command":%q}`, command)}}}, {Text: "done"},
	}})
	home, dir := t.TempDir(), t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("f%04d.go", i)) }
	for i := range files {
		if err := os.WriteFile(name(i), fmt.Append(nil, "old ", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inside := filepath.Join(dir, "dir", "x")
	if err := os.Mkdir(filepath.Dir(inside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inside, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	adze := func(args ...string) *exec.Cmd {
		cmd := exec.Command("adze", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "ADZE_HOME="+home, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=", "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
		return cmd
	}
	if out, err := adze("-p", "go", "--yolo", "--sandbox", "off").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	undo := adze("undo", "--yes")
	if err := undo.Start(); err != nil {
		t.Fatal(err)
	}
	restored := func(i int) bool {
		content, err := os.ReadFile(name(i))
		if err != nil || string(content) != "new\n" && string(content) != fmt.Sprint("old ", i) {
			t.Fatalf("%s is %q (%v)", name(i), content, err)
		}
		return string(content) != "new\n"
	}
	waittest.Holds(func() bool { return restored(files / 10) })
	_ = undo.Process.Kill()
	_ = undo.Wait() // it was killed
	old := 0
	for i := range files {
		if restored(i) {
			old++
		}
	}
	t.Logf("killed after %d of %d files", old, files)
	out, err := adze("undo", "--yes").CombinedOutput()
	if nothing := strings.Contains(string(out), "nothing to undo"); err != nil && !(nothing && old == files) {
		t.Fatalf("%v: %s", err, out)
	}
	for i := range files {
		if !restored(i) {
			t.Errorf("%s isn't restored", name(i))
		}
	}
	if content, err := os.ReadFile(inside); string(content) != "old" {
		t.Errorf("%s is %q (%v)", inside, content, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != files+1 {
		t.Errorf("%d entries", len(entries))
	}
}
