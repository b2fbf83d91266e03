package adze_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// An agent resumes the sessions of its directory. Those of others can be in its journal: with one of them, Undo changed
// files outside the directory.
func TestResumeElsewhere(t *testing.T) {
	journal, here, there := t.TempDir(), t.TempDir(), t.TempDir()
	a := opened(t, adze.Dir(there), adze.Journal(journal), adze.UseModel(recorded(t, done)))
	ran(t, a, "hello")
	id := a.ID()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := opened(t, adze.Dir(here), adze.Journal(journal), adze.UseModel(recorded(t, done)))
	if err := b.Resume(id); err == nil || !strings.Contains(err.Error(), "isn't of "+project.Canonical(here)) || b.ID() == id {
		t.Errorf("%v; the session is %s", err, b.ID())
	}
	if answer, _ := ran(t, b, "hello"); answer != "done" {
		t.Errorf("answer %q", answer)
	}
	if err := opened(t, adze.Dir(there), adze.Journal(journal)).Resume(id); err != nil {
		t.Error(err)
	}
}

// After Close nothing runs. Edits did, and made the directory again that Close had deleted.
func TestCallsAfterClose(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	path := filepath.Join(dir, "a.txt")
	args, _ := json.Marshal(map[string]string{"file_path": path, "content": "x\n"})
	a := opened(t, adze.Dir(dir), adze.Mode(permission.Yolo), adze.Tools(named("deploy")))
	x := a.Executor(t.Context())
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []tool.Call{{Name: "write_file", Args: args}, {Name: "deploy"}, shell("touch " + path)} {
		for _, o := range []tool.Outcome{a.Call(t.Context(), c), x.Run(t.Context(), c)} {
			if o.Status != tool.StatusError || !strings.Contains(o.Result.Text(), "the session is closed") {
				t.Errorf("%s: %s %s", c.Name, o.Status, o.Result.Text())
			}
		}
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 || exists(path) {
		t.Errorf("left %v, written %t", left, exists(path))
	}
}

// Without a journal nothing is left, and nothing can be undone.
func TestJournals(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, options := range [][]adze.Option{nil, {adze.NoJournal()}} {
		dir := t.TempDir()
		a := opened(t, append(options, adze.Dir(dir), adze.Ask(allow))...)
		if o := a.Call(t.Context(), shell("touch x")); o.Status != tool.StatusSuccess {
			t.Fatalf("%+v", o)
		}
		if _, err := a.Undo(t.Context()); (err == nil) != (options == nil) || exists(filepath.Join(dir, "x")) != (options != nil) {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}
