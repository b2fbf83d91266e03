package acp

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A replay omits rewound entries, those of subagents, and data that it doesn't need.
func TestReplayed(t *testing.T) {
	t.Parallel()
	log := &journal.Memory{}
	w := journal.NewWriter(log, nil, journal.State{})
	said := func(role model.Role) model.Message {
		return model.Message{Role: role, Parts: []model.Part{model.Text("x")}}
	}
	for i, e := range []struct {
		by   string
		data journal.Data
	}{
		{"", journal.Opened{ID: "s", CWD: "/w"}},                                  // 1
		{"", journal.Message{Kind: journal.Prompt, Message: said(model.User)}},    // 2
		{"", journal.Answer{Turn: 1, Message: said(model.Assistant)}},             // 3
		{"", journal.Message{Kind: journal.Prompt, Message: said(model.User)}},    // 4: rewound
		{"", journal.Answer{Turn: 2, Message: said(model.Assistant)}},             // 5: rewound
		{"", journal.Undone{To: 3}},                                               // 6
		{"", journal.Message{Kind: journal.Prompt, Message: said(model.User)}},    // 7
		{"sub", journal.Message{Kind: journal.Prompt, Message: said(model.User)}}, // 8: a subagent's
		{"", journal.Mode{Mode: "plan"}},                                          // 9: not shown
		{"", journal.Answer{Turn: 3, Message: said(model.Assistant)}},             // 10
	} {
		if _, err := w.Write(e.by, e.data); err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
	}
	var got []int64
	for _, e := range replayed(log, nil) {
		got = append(got, e.Seq)
	}
	if want := "[1 2 3 7 10]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// A call that the user denied looks the same when it is replayed, even if its file has changed since.
func TestReplayOfDeniedEdit(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("a.txt", "one\ntwo\n")
	e.model(
		openaitest.Answer{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path})}},
		openaitest.Answer{Calls: []openaitest.Call{
			call("c2", "edit", map[string]any{"file_path": path, "old_string": "two", "new_string": "three"}),
			call("c3", "edit", map[string]any{"file_path": path, "old_string": "no such text", "new_string": "three"}),
		}},
		openaitest.Answer{Text: "ok"},
	)
	e.choose("no")
	e.initialize("{}")
	e.say(e.session(), "go")
	live := map[any]map[string]any{}
	for _, u := range append(e.of("tool_call"), e.of("tool_call_update")...) {
		if live[u["toolCallId"]] == nil {
			live[u["toolCallId"]] = map[string]any{}
		}
		maps.Copy(live[u["toolCallId"]], u)
	}
	e.forget()
	e.file("a.txt", "zero\none\ntwo\nno such text\n")
	id := list(e.call("session/list", map[string]any{})["sessions"])[0]["sessionId"]
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	calls := e.of("tool_call")
	if len(calls) != 3 {
		t.Fatalf("%d calls", len(calls))
	}
	for _, replayed := range calls {
		id := replayed["toolCallId"]
		for _, key := range []string{"title", "kind", "locations", "content"} {
			if diff := cmp.Diff(live[id][key], replayed[key]); diff != "" {
				t.Errorf("%s of %s (-live +replayed)\n%s", key, id, diff)
			}
		}
	}
}
