package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
)

// Pieces of a text and of a thought are joined, also around a call that the server repeats.
func TestPiecesAreJoined(t *testing.T) {
	var b bench
	seal := model.Sealed{API: "x", Model: "m", JSON: json.RawMessage(`{"s":1}`)}
	look := call("1", "look", `{"name":"x"}`)
	a, _, _, err := run(t, &b, agent.Options{},
		says(model.Thought("h"), model.Thought("m"), model.Text("a"), model.Text(""), model.Text("b"), look, seal,
			model.Text("c"), look, seal, model.Text("d"), model.Thought("e"), callsEnd),
		says(model.Text(""), model.Text("done"), model.End{Reason: model.Stop}))
	if err != nil {
		t.Fatal(err)
	}
	got := show(a.History())
	want := "user: go\nassistant thinks: hm\nassistant: ab\nassistant calls 1 look {\"name\":\"x\"}\nassistant sealed: {\"s\":1}\nassistant: cd\nassistant thinks: e\n"
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "assistant: done\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
