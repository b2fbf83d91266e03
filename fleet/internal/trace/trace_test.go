package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/otlp"
	"github.com/adze-dev/adze/journal"
)

// entries makes a journal: each line is a second, an agent ("-": the main one), a type, and data.
func entries(t *testing.T, lines ...string) []journal.Entry {
	t.Helper()
	var all []journal.Entry
	for i, line := range lines {
		f := strings.SplitN(line, " ", 4)
		var second int64
		if _, err := fmt.Sscan(f[0], &second); err != nil {
			t.Fatal(err)
		}
		all = append(all, journal.Entry{Seq: int64(i + 1), At: time.Unix(second, 0), By: strings.TrimPrefix(f[1], "-"), Type: journal.Type(f[2]), Data: json.RawMessage(f[3])})
	}
	return all
}

// show prints a tree of spans.
func show(spans []*otlp.Span) string {
	var b strings.Builder
	var under func(parent, indent string)
	under = func(parent, indent string) {
		for _, s := range spans {
			if s.Parent != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %d-%d", indent, s.Name, s.StartNanos/1e9, s.EndNanos/1e9)
			if s.Status != nil {
				fmt.Fprintf(&b, " %s", s.Status.Message)
			}
			b.WriteByte('\n')
			under(s.SpanID, indent+"  ")
		}
	}
	under("", "")
	return b.String()
}

// A task has turns, which have requests and calls; what a killed worker left open ends with its last entry.
func TestSpans(t *testing.T) {
	t.Parallel()
	spans := Spans("r", "t", entries(t,
		`1 - owner {"worker":"a"}`,
		`2 - asked {"turn":1}`,
		`4 - answer {"turn":1,"model":"m","usage":{"input":10,"output":2},"message":{"role":"assistant"}}`,
		`5 - call.started {"id":"c1","name":"agent"}`,
		`6 sub asked {"turn":1}`,
		`7 sub answer {"turn":1,"model":"m","error":"busy"}`,
		`8 - call.finished {"id":"c1","outcome":{"name":"agent","status":"error","error":{"type":"failed","message":"secret text"}}}`,
		`9 - responses {"turn":1}`,
		`10 - asked {"turn":2}`,
		`11 - answer {"turn":2,"model":"m"}`,
		`12 - call.started {"id":"c2","name":"run_shell_command"}`,
		`40 - owner {"worker":"b"}`,
		`41 - asked {"turn":3}`,
		`42 - answer {"turn":3,"model":"m"}`,
		`43 - done {"state":"failed","cost":0.5,"turns":3,"worker":"b"}`,
	))
	want := `task 1-43 failed
  turn 2-9
    chat m 2-4
    execute_tool agent 5-8 failed
  turn 6-12
    chat m 6-7 the request failed
  turn 10-12
    chat m 10-11
    execute_tool run_shell_command 12-12 interrupted
  turn 41-43
    chat m 41-42
`
	if got := show(spans); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if raw, _ := json.Marshal(spans); strings.Contains(string(raw), "secret text") {
		t.Error("a span has the text of a result")
	}
	if len(spans[0].Events) != 2 {
		t.Errorf("%d owners", len(spans[0].Events))
	}
	if Spans("r", "t", nil) != nil {
		t.Error("spans without entries")
	}
}
