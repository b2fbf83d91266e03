package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestSaveMemory(t *testing.T) {
	tooltest.Check(t, one(t, "save_memory"),
		tooltest.Try{Args: `{"fact":"A fact.","scope":"project"}`},
		tooltest.Try{Args: `{"fact":"A fact.","scope":"project"}`, Files: map[string]string{"AGENTS.md": "# Rules\n\n## Added Memories\n- Old.\n"}},
		tooltest.Try{Args: `{"fact":"Old.","scope":"project"}`, Files: map[string]string{"AGENTS.md": "## Added Memories\n- Old.\n"}},
		tooltest.Try{Args: `{"fact":"A fact."}`},
		tooltest.Try{Args: `{"fact":""}`, Fails: true},
	)
}

// A global fact goes into the user's own directory, and the context is reloaded at once.
func TestSaveMemoryGlobal(t *testing.T) {
	state := filepath.Join(real(t, t.TempDir()), "state")
	var told []string
	s, err := New(Options{Dir: t.TempDir(), State: state, Remembered: func(path string) { told = append(told, path) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	for range 2 {
		if o := call(t, x, "save_memory", args{"fact": "Tabs."}); o.Status != tool.StatusSuccess {
			t.Fatal(o.Result.Text())
		}
	}
	path := filepath.Join(state, "AGENTS.md")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "## Added Memories\n- Tabs.\n" {
		t.Errorf("%q, %v", got, err)
	}
	if len(told) != 1 || told[0] != path {
		t.Errorf("told %q", told)
	}
}

func real(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// The user approves the diff of the file, and the policy sees the write access.
func TestSaveMemoryIsConfirmedWithADiff(t *testing.T) {
	dir := real(t, t.TempDir())
	put(t, dir, map[string]string{"AGENTS.md": "# Rules\n"})
	var asked tool.Request
	x := executor(open(t, dir))
	x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }
	x.Ask = func(_ ctx, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		asked = r
		return tool.Decision{Verdict: tool.Deny}, nil
	}
	o := call(t, x, "save_memory", args{"fact": "Tabs.", "scope": "project"})
	if o.Status != tool.StatusDenied {
		t.Error(o.Status)
	}
	d, ok := asked.Confirm.(tool.FileDiff)
	if !ok || !strings.Contains(d.Diff, "+## Added Memories\n+- Tabs.\n") {
		t.Errorf("asked with %v", asked.Confirm)
	}
	if want := (tool.Access{Verb: tool.Writes, Target: filepath.Join(dir, "AGENTS.md")}); asked.Access[len(asked.Access)-1] != want {
		t.Errorf("access %v", asked.Access)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "AGENTS.md")); string(got) != "# Rules\n" {
		t.Errorf("a refused fact was written: %q", got)
	}
}

// A hundred facts at once, from many calls, are all kept, once each.
func TestSaveMemoryLosesNothing(t *testing.T) {
	dir := t.TempDir()
	x := executor(open(t, dir))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			child := x.Child(nil, fmt.Sprint("c", i), nil)
			for n := range 25 {
				if o := call(t, child, "save_memory", args{"fact": fmt.Sprintf("Fact %d.", n), "scope": "project"}); o.Status != tool.StatusSuccess {
					t.Error(o.Result.Text())
				}
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "AGENTS.md"))
	if err != nil || strings.Count(string(got), "\n") != 26 {
		t.Errorf("%v\n%s", err, got)
	}
}

// Concurrent sessions share a file without knowing of each other. The slower ones used to fail with an error that asked to
// read it again, and their facts were lost.
func TestSaveMemoryOfSeveralSessions(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		x := executor(open(t, dir))
		wg.Go(func() {
			for n := range 5 {
				if o := call(t, x, "save_memory", args{"fact": fmt.Sprintf("Fact %d of %d.", n, i), "scope": "project"}); o.Status != tool.StatusSuccess {
					t.Error(o.Result.Text())
				}
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "AGENTS.md"))
	if err != nil || strings.Count(string(got), "\n") != 41 {
		t.Errorf("%v\n%s", err, got)
	}
}

// A memory file over the limit is not made longer. One over the loaded size is, with a warning.
func TestSaveMemoryHuge(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("x", 99) + "\n"
	put(t, dir, map[string]string{"AGENTS.md": strings.Repeat(line, 12_000)})
	x := executor(open(t, dir))
	o := call(t, x, "save_memory", args{"fact": "Tabs.", "scope": "project"})
	if o.Error == nil || o.Error.Type != fileTooLarge || !strings.Contains(o.Error.Message, "Shorten it first") {
		t.Errorf("%+v", o.Error)
	}
	put(t, dir, map[string]string{"AGENTS.md": strings.Repeat(line, 1000)})
	o = call(t, x, "save_memory", args{"fact": "Tabs.", "scope": "project"})
	if o.Status != tool.StatusSuccess || !strings.Contains(o.Result.Text(), "only the start and end are loaded") {
		t.Error(o.Result.Text())
	}
	o = call(t, x, "save_memory", args{"fact": strings.Repeat("x", 2001), "scope": "project"})
	if o.Error == nil || o.Error.Type != tool.InvalidParams {
		t.Errorf("%+v", o.Error)
	}
}
