package acp

import (
	"fmt"
	"testing"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
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
