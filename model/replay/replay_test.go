package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

const recording = `{"model":"qwen3-coder"}
{"request":{"from":0,"messages":[{"role":"user","parts":[{"text":"Fix $WORK"}]}]}}
{"thought":"Hm."}
{"text":"I will read it."}
{"call":{"id":"1","name":"read_file","args":{"absolute_path":"$WORK/main.go"}}}
{"usage":{"input":812,"output":40}}
{"end":"calls"}

{"text":"Done in $WORKTREE."}
{"end":"stop"}
`

func events(m model.Model, r model.Request) ([]model.Event, error) {
	var out []model.Event
	for e, err := range m.Stream(context.Background(), r) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func TestPlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(recording), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := replay.Open(path, replay.Options{Vars: map[string]string{"$WORK": `C:\"x"`, "$WORKTREE": "tree"}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "qwen3-coder" || m.Left() != 2 {
		t.Errorf("%s has %d turns", m.Name(), m.Left())
	}
	want := [][]model.Event{
		{
			model.Thought("Hm."), model.Text("I will read it."),
			model.Call{Call: tool.Call{ID: "1", Name: "read_file", Args: json.RawMessage(`{"absolute_path":"C:\\\"x\"/main.go"}`)}},
			model.Usage{Input: 812, Output: 40}, model.End{Reason: model.Calls},
		},
		{model.Text("Done in tree."), model.End{Reason: model.Stop}},
	}
	for _, w := range want {
		got, err := events(m, model.Request{})
		if d := cmp.Diff(w, got); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	_, err = events(m, model.Request{})
	if err == nil || err.Error() != "replay "+path+": the recording has only 2 turns, but the conversation continues" || !errors.Is(err, model.ErrRejected) {
		t.Errorf("after the end: %v", err)
	}
}

func TestStrict(t *testing.T) {
	for _, tt := range []struct {
		prompt []model.Message
		want   string
	}{
		{[]model.Message{model.Prompt("Fix /w")}, ""},
		{[]model.Message{model.Prompt("Break /w")}, `replay r, line 2: turn 1 was recorded in a different conversation: message 0: expected`},
		{nil, "replay r, line 2: turn 1 was recorded in a different conversation: expected 1 messages, got 0"},
	} {
		m, err := replay.Read(strings.NewReader(recording), "r", replay.Options{Strict: true, Vars: map[string]string{"$WORK": "/w"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = events(m, model.Request{Messages: tt.prompt})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%v: got %v", tt.prompt, err)
		}
	}
}

func TestReadErrorsNameTheLine(t *testing.T) {
	for in, want := range map[string]string{
		"{\"text\":\"a\"}\n{\"end\":\n":           "line 2: unexpected end of JSON input",
		"{\"text\":\"a\"}\n":                      "line 1: the turn that starts here has no end",
		"\n{\"txt\":\"a\"}\n":                     `line 2: unknown key "txt" (expected model, request, text, thought, call, sealed, usage or end)`,
		"{\"text\":\"a\",\"end\":\"stop\"}\n":     "line 1: expected an object with one key, got 2 keys",
		"[]\n":                                    "line 1: json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
		"{\"end\":\"stop\"}\n{\"model\":\"m\"}\n": "line 2: the model's name must come first",
		"{\"text\":\"a\"}\n{\"request\":{}}\n{\"end\":\"stop\"}\n": "line 2: a request in the middle of a turn; an end is missing before it",
	} {
		_, err := replay.Read(strings.NewReader(in), "r", replay.Options{})
		if err == nil || err.Error() != "read recording r, "+want {
			t.Errorf("%q: got %v", in, err)
		}
	}
	if _, err := replay.Open(filepath.Join(t.TempDir(), "none"), replay.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// What is recorded can be played, strictly, in the same conversation.
func TestRecord(t *testing.T) {
	source := strings.Replace(recording, `{"text":"I will read it."}`, "{\"text\":\"I will \"}\n{\"text\":\"read it.\"}", 1)
	live, err := replay.Read(strings.NewReader(source), "live", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conversation := []model.Message{
		model.Prompt("Fix $WORK"),
		{Role: model.Assistant, Parts: []model.Part{model.Text("I will read it.")}},
		{Role: model.Tool, Parts: []model.Part{model.Response{ID: "1", Name: "read_file", Content: []tool.Part{tool.Text("a <b>")}}}},
	}
	var file bytes.Buffer
	m := replay.Record(&file, live)
	for _, n := range []int{1, 3} {
		if _, err := events(m, model.Request{Messages: conversation[:n]}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := events(m, model.Request{}); err == nil {
		t.Error("the live model went on")
	}
	want := strings.Replace(recording, "\n\n", "\n"+
		`{"request":{"from":1,"messages":[{"role":"assistant","parts":[{"text":"I will read it."}]},`+
		`{"role":"tool","parts":[{"response":{"id":"1","name":"read_file","result":{"llmContent":"a <b>"}}}]}]}}`+"\n", 1)
	if d := cmp.Diff(want, file.String()); d != "" {
		t.Errorf("recorded (-want +got):\n%s", d)
	}
	again, err := replay.Read(&file, "again", replay.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3} {
		if _, err := events(again, model.Request{Messages: conversation[:n]}); err != nil {
			t.Error(err)
		}
	}
}

// The pieces of a thought become one line, and sealed data keeps its bytes and its place between thoughts.
func TestRecordKeepsSealedData(t *testing.T) {
	const lines = `{"thought":"a"}
{"thought":"b"}
{"sealed":{"api":"anthropic","model":"m","json":"{\"signature\": \"<\\u003c\"}"}}
{"thought":"c"}
{"end":"stop"}
`
	live, err := replay.Read(strings.NewReader(lines), "live", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := events(replay.Record(&file, live), model.Request{}); err != nil {
		t.Fatal(err)
	}
	want := `{"thought":"ab"}
{"sealed":{"api":"anthropic","model":"m","json":"{\"signature\": \"<\\u003c\"}"}}
{"thought":"c"}
{"end":"stop"}
`
	if !strings.HasSuffix(file.String(), want) {
		t.Errorf("recorded\n%s", file.String())
	}
}

func TestRecordTellsOfAFullDisk(t *testing.T) {
	live, err := replay.Read(strings.NewReader(recording), "live", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events(replay.Record(full{}, live), model.Request{}); err == nil || err.Error() != "write a recording: disk full" {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
