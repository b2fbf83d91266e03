package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// The line of a call was read twice in a workspace sandbox: for what git needs, and for the verdict. Now both use one
// script, which the test empties.
func TestALineIsReadOnce(t *testing.T) {
	home, dir := project.Canonical(t.TempDir()), project.Canonical(t.TempDir())
	settings := `{"tools":{"sandbox":"workspace","trial":"off"}}`
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	getenv := func(name string) string {
		return map[string]string{"ADZE_HOME": home, "ADZE_LOCAL_MODELS": "off"}[name]
	}
	s, err := Open(project.Env{Home: home, Helper: builtin.Main(), Getenv: getenv}, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const line = "git config core.editor x"
	preview := func() (tool.Request, tool.Decision) {
		t.Helper()
		r, d, err := s.Executor.Preview(t.Context(), tool.Call{
			Name: "run_shell_command", Args: []byte(`{"command":"` + line + `"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r, d
	}
	if r, d := preview(); len(r.Access) < 2 || !strings.Contains(d.Reason, "runs git") {
		t.Fatalf("%v, %s: the command doesn't need .git/config", r.Access, d.Reason)
	}
	script, err := s.lines.Read(line, bash.Options{Dir: dir, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	script.Commands = nil
	if r, d := preview(); len(r.Access) != 1 || strings.Contains(d.Reason, "runs git") {
		t.Errorf("%v, %s: the line was read again", r.Access, d.Reason)
	}
}
