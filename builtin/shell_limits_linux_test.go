package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/tool"
)

// While the list of hidden files isn't ready, commands that the verdict approved by itself can't read files outside the
// workspace or in Adze's own directory either, unless they were granted. They used to run without any limits: git reflog printed a file that a link in .git leads to.
func TestLimitsBeforeTheListIsReady(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	for path, text := range map[string]string{
		filepath.Join(work, "a.txt"): "inside\n", outside: "outside\n", filepath.Join(work, "own/key"): "outside\n", filepath.Join(work, "own/saved/x"): "saved\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	release := make(chan struct{})
	set, err := New(Options{Dir: work, State: filepath.Join(work, "own"), Helper: testHelper, Sandbox: Sandbox{Limits: &ReadLimits{
		System: []string{"/usr", "/bin", "/lib", "/lib64", "/etc"},
		Hide:   func(string, func() bool) bool { <-release; return false }, // the walk doesn't end
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer close(release)
	if err := set.shell.runner.CanLimit(false); err != nil {
		t.Skipf("reads can't be limited here: %v", err)
	}
	if _, known := set.Secrets(); known {
		t.Fatal("the list is complete before it is ready")
	}
	command := proc.Command{Line: "cat a.txt own/saved/x ../outside own/key", Dir: work}
	if _, err := set.shell.sandboxes.assign(&command, tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{
		{Verb: tool.Reads, Target: "*"}, {Verb: tool.Reads, Target: filepath.Join(work, "own/saved/x")},
	}}); err != nil {
		t.Fatal(err)
	}
	if command.Sandbox == nil || command.Sandbox.Mode != sandbox.ReadOnly {
		t.Fatalf("sandbox: %+v", command.Sandbox)
	}
	o, err := set.shell.runner.Run(t.Context(), command)
	if out := o.Output.String(); err != nil || !strings.HasPrefix(out, "inside\nsaved\n") || strings.Contains(out, "\noutside\n") {
		t.Errorf("%q, %v", out, err)
	}
}
