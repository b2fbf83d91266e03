package session

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// countedLog counts how often it is synced.
type countedLog struct {
	journal.Memory
	synced atomic.Int64
}

func (l *countedLog) Sync() error {
	l.synced.Add(1)
	return nil
}

// The journal is synced before a call that can modify something runs, and after the responses of a turn; not for reads, and
// not for answers without calls.
func TestJournalIsSyncedWhereItMatters(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.dir, "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path}), call("c2", "glob", map[string]any{"pattern": "*"})}},
		{Calls: []openaitest.Call{call("c3", "edit", map[string]any{"file_path": path, "old_string": "one", "new_string": "two"})}},
		{Text: "done"},
	}})
	s, err := d.try(&Recording{})
	if err != nil {
		t.Fatal(err)
	}
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	log := &countedLog{}
	s.recorder.create = func() (*journal.Writer, error) {
		return journal.NewWriter(log, &journal.MemoryBlobs{}, journal.State{}), nil
	}
	got := map[string]int64{}
	c := d.converse(t, s, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Step:
			if e.Stage == tool.Running {
				got["when "+e.Request.Call.ID+" runs"] = log.synced.Load()
			}
		case agent.Responded:
			got["after "+e.Outcomes[0].Call.ID] = log.synced.Load()
		}
	})
	d.say(t, c, "go")
	got["before the end"] = log.synced.Load()
	s.Close()
	got["after the end"] = log.synced.Load()
	want := map[string]int64{
		"when c1 runs": 0, "when c2 runs": 0, "after c1": 1, "when c3 runs": 2, "after c3": 3, "before the end": 3, "after the end": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
