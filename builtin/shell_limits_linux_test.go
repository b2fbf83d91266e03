package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if err := testRunner(t).CanLimit(false); err != nil {
		t.Skipf("reads can't be limited here: %v", err)
	}
	if _, known := set.Secrets(); known {
		t.Fatal("the list is complete before it is ready")
	}
	x := executor(set)
	x.Policy = func(tool.Request) tool.Decision {
		return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{
			{Verb: tool.Reads, Target: "*"}, {Verb: tool.Reads, Target: filepath.Join(work, "own/saved/x")},
		}}
	}
	const line = "cat a.txt own/saved/x ../outside own/key; (echo x > b.txt) 2>/dev/null || echo read-only"
	o := call(t, x, "run_shell_command", args{"command": line})
	out := o.Result.Text()
	if !strings.Contains(out, "Output: inside\nsaved\n") || !strings.Contains(out, "read-only\n") || strings.Contains(out, "\noutside\n") {
		t.Errorf("%q, %v", out, o.Error)
	}
}
