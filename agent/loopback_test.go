package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/google/go-cmp/cmp"
)

// Three turns with parallel calls over HTTP, from a server that numbers its calls from call_0 in each answer and sends them
// byte by byte.
func TestThreeTurnsOverTheWire(t *testing.T) {
	two := func(a, b string) []openaitest.Call {
		return []openaitest.Call{
			{ID: "call_0", Name: "look", Args: json.RawMessage(`{"name":"` + a + `"}`)},
			{ID: "call_1", Name: "look", Args: json.RawMessage(`{"name":"` + b + `"}`)},
		}
	}
	srv := openaitest.Serve(t, openaitest.Script{Models: []string{"tiny"}, Answers: []openaitest.Answer{
		{Expect: []string{`"model":"tiny"`, `"content":"Work well."`, `"name":"look"`, `"content":"go"`},
			Text: "I look.", Calls: two("ä", "b"), Faults: openaitest.Faults{Split: 1}, Usage: &openaitest.Usage{Input: 10, Output: 5}},
		{Expect: []string{`"tool_call_id":"call_0"`, `"content":"saw ä"`, `"content":"saw b"`},
			Calls: two("c", "d"), Faults: openaitest.Faults{NoIndex: true}, Usage: &openaitest.Usage{Input: 20, Output: 5}},
		{Expect: []string{`"tool_call_id":"t00002c00"`, `"tool_call_id":"t00002c01"`, `"content":"saw d"`},
			Text: "Seen.", Usage: &openaitest.Usage{Input: 30, Output: 1}},
	}})
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := bench{barrier: make(chan struct{})} // a look ends only when another is there: they do run at the same time
	a := agent.New(agent.Options{Model: m, Executor: b.executor(), System: "Work well."})
	answer, err := a.Run(t.Context(), model.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	checkHistory(t, a.History())
	want := `user: go
assistant: I look.
assistant calls call_0 look {"name":"ä"}
assistant calls call_1 look {"name":"b"}
call_0 look gives: saw ä
call_1 look gives: saw b
assistant calls t00002c00 look {"name":"c"}
assistant calls t00002c01 look {"name":"d"}
t00002c00 look gives: saw c
t00002c01 look gives: saw d
assistant: Seen.
`
	if d := cmp.Diff(want, show(a.History())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if answer.Text != "Seen." || answer.Turns != 3 || answer.Usage != (model.Usage{Input: 60, Output: 11}) {
		t.Errorf("answer %+v", answer)
	}
}
