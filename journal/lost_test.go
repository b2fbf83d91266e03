package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// A session whose contents are gone from the store used to be impossible to open. A sentence replaces each of them, and every
// call has its response.
func TestLostContents(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	long := strings.Repeat("x", MaxText+1)
	big := func(n int) []model.Part { // together they don't fit into a line, so that the whole message goes to the store
		var parts []model.Part
		for range n {
			parts = append(parts, model.Text(strings.Repeat("y", MaxText-1)))
		}
		return parts
	}
	call := model.Call{Call: tool.Call{ID: "1", Name: "look", Args: json.RawMessage(`{"name":"a"}`)}}
	response := func(content ...tool.Part) model.Part { return model.Response{ID: "1", Name: "look", Content: content} }
	var responses []tool.Part
	for range 10 {
		responses = append(responses, tool.Text(strings.Repeat("z", MaxText-1)))
	}
	picture := tool.Media{MIMEType: "image/png", Data: []byte("picture")}
	f := record(t, s, testID, long, 0,
		Message{Message: model.Message{Role: model.User, Parts: []model.Part{model.Text("see"), model.Media{Media: picture}}}},
		Message{Message: model.Message{Role: model.User, Parts: big(10)}},
		Called{Turn: 1, Call: call},
		Started{ID: "1"},
		Finished{ID: "1", Outcome: Outcome{Status: tool.StatusSuccess, Result: tool.TextResult(long)}},
		Answer{Turn: 1, Message: model.Message{Role: model.Assistant, Parts: append(big(10), call)}},
		Responses{Turn: 1, Message: model.Message{Role: model.Tool, Parts: []model.Part{response(responses...)}}},
		Answer{Turn: 2, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Sealed{API: "a", JSON: json.RawMessage(`"` + long + `"`)}, model.Text("seen")}}},
		Called{Turn: 3, Call: call},
		Answer{Turn: 3, Message: model.Message{Role: model.Assistant, Parts: []model.Part{call}}},
		Responses{Turn: 3, Message: model.Message{Role: model.Tool, Parts: []model.Part{response(picture, tool.Text("seen"))}}},
	)
	f.Close()
	if err := os.RemoveAll(filepath.Join(s.Home, storeName)); err != nil {
		t.Fatal(err)
	}
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := state.Agent("")
	if state.Lost.Contents != 7 || state.Lost.Err == nil || len(a.Calls) != 0 {
		t.Errorf("%d contents lost, %v; calls %v", state.Lost.Contents, state.Lost.Err, a.Calls)
	}
	var got strings.Builder
	for _, m := range a.History {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	want := `{"role":"user","parts":[{"text":"news"}]}
{"role":"user","parts":[{"text":"[65537 bytes are missing here: Adze's store no longer has them]"}]}
{"role":"user","parts":[{"text":"see"},{"text":"[7 bytes are missing here: Adze's store no longer has them]"}]}
{"role":"user","parts":[{"text":"[A message is missing here: Adze's store no longer has it]"}]}
{"role":"assistant","parts":[{"text":"[A message is missing here: Adze's store no longer has it]"},{"call":{"id":"1","name":"look","args":{"name":"a"}}}]}
{"role":"tool","parts":[{"response":{"id":"1","name":"look","result":{"llmContent":"[A message is missing here: Adze's store no longer has it]"}}}]}
{"role":"assistant","parts":[{"thought":""},{"text":"seen"}]}
{"role":"assistant","parts":[{"call":{"id":"1","name":"look","args":{"name":"a"}}}]}
{"role":"tool","parts":[{"response":{"id":"1","name":"look","result":{"llmContent":["[7 bytes are missing here: Adze's store no longer has them]","seen"]}}}]}
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	same, err := Fold(f.Read(1), s.Store())
	if err != nil || len(same.Agent("").History) != len(a.History) || same.Lost.Contents != state.Lost.Contents {
		t.Errorf("the fold has %d messages, %d contents lost, %v", len(same.Agent("").History), same.Lost.Contents, err)
	}
	for e, err := range f.Read(1) { // the entries themselves keep the references
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(e, s.Store()); strings.Contains(string(e.Data), `"blob"`) != (err != nil) {
			t.Errorf("entry %d: %v", e.Seq, err)
		}
	}
}
