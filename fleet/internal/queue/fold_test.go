package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// asLog is a task's journal as a session's.
type asLog struct {
	ctx context.Context
	l   *Log
}

func (a asLog) Append(e journal.Entry) error { return a.l.Append(a.ctx, e, "") }
func (a asLog) Sync() error                  { return nil }
func (a asLog) Close() error                 { return nil }

func (a asLog) Read(from int64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		l, err := a.l.q.OpenLog(a.ctx, "r", "t")
		if err != nil {
			yield(journal.Entry{}, err)
			return
		}
		for _, e := range l.Entries {
			if e.Seq >= from && !yield(e, nil) {
				return
			}
		}
	}
}

// script returns what a session does: turns with calls and a subagent, long texts, pictures, a compaction, an undo. It stops in
// the middle of a turn.
func script(id string, seed uint64) (by []string, all []journal.Data) {
	r := rand.New(rand.NewPCG(seed, 2))
	add := func(agent string, data ...journal.Data) {
		for _, d := range data {
			by, all = append(by, agent), append(all, d)
		}
	}
	add("", journal.Opened{ID: id, CWD: "/work", Model: "m", System: "system", Declarations: []journal.Declaration{{Name: "edit", Parameters: json.RawMessage(`{"type":"object"}`)}}})
	for n := 1; n <= 20; n++ {
		agent := []string{"", "", "explore-1"}[r.IntN(3)]
		long := strings.Repeat("<long> \"text\"\n", 1+r.IntN(2)*8000)
		picture := tool.Media{MIMEType: "image/png", Data: []byte(long)}
		call := model.Call{Call: tool.Call{ID: fmt.Sprint("call-", n), Name: "edit", Args: json.RawMessage(`{"blob":"sha256:1","bytes":2}`)}}
		content := []tool.Part{tool.Text(long), picture}
		add(agent,
			journal.Message{Message: model.Prompt(long)},
			journal.Asked{Turn: n, Model: "m"},
			journal.Called{Turn: n, Call: call},
			journal.Started{ID: call.ID, Name: call.Name, Args: json.RawMessage(`{}`), Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}}},
			journal.Answer{Turn: n, Usage: model.Usage{Input: n, Output: 1}, Reason: model.Calls,
				Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(long), call}}},
		)
		if n == 20 {
			break // killed
		}
		add(agent,
			journal.Finished{ID: call.ID, Outcome: journal.Outcome{Name: "edit", Status: tool.StatusSuccess, Result: tool.Result{Content: content}},
				Seen: []journal.Seen{{Path: "/a", Hash: "00", Whole: true}}, Todos: json.RawMessage(fmt.Sprintf(`[%d]`, n))},
			journal.Responses{Turn: n, Message: model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: call.ID, Name: "edit", Content: content}}}},
		)
		switch r.IntN(6) {
		case 0:
			add("", journal.Compacted{Messages: []model.Message{model.Prompt("summary")}})
		case 1:
			add("", journal.Undone{To: int64(len(all) - r.IntN(8))})
		case 2:
			add("", journal.Mode{Mode: "plan"}, journal.Model{Model: "m2"})
		}
	}
	return by, all
}

// state returns what a log of the script's entries folds to, as JSON.
func state(t *testing.T, log journal.Log, seed uint64) string {
	t.Helper()
	blobs := &journal.MemoryBlobs{}
	w := journal.NewWriter(log, blobs, journal.State{})
	at := time.Date(2026, 11, 16, 6, 0, 0, 123456789, time.UTC)
	w.Now = func() time.Time {
		at = at.Add(time.Second)
		return at
	}
	by, all := script("00000001-0000-4000-8000-000000000000", seed)
	for i, d := range all {
		if _, err := w.Write(by[i], d); err != nil {
			t.Fatal(err)
		}
	}
	s, err := journal.Fold(log.Read(1), blobs)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// One fold gives the same state from memory, from a file and from a stream.
func TestOneFold(t *testing.T) {
	t.Parallel()
	_, q := serve(t)
	l, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	sessions := journal.Sessions{Home: t.TempDir()}
	file, err := sessions.Create("00000001-0000-4000-8000-000000000000")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := state(t, &journal.Memory{}, 1)
	for name, log := range map[string]journal.Log{"stream": asLog{t.Context(), l}, "file": file} {
		if got := state(t, log, 1); got != want {
			t.Errorf("the state from a %s differs: %d and %d bytes", name, len(got), len(want))
		}
	}
}
