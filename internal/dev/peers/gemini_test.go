package peers

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/gemini/geminitest"
)

// Google's own SDK understands the scripted server, so that what the adapter is tested with is the real protocol.
func TestGeminiSDK(t *testing.T) {
	s, err := geminitest.Start(geminitest.Script{Key: "a-key", Models: []string{"gemini-x", "gemini-y"}, Answers: []geminitest.Answer{
		{Thought: "Both files.", Text: "Looking.", Faults: geminitest.Faults{Split: 4, Chunk: 7}, Calls: []geminitest.Call{
			{ID: "x1", Name: "see", Args: json.RawMessage(`{"path":"a ü"}`), Signature: "c2lnMQ=="}, {ID: "x2", Name: "see", Args: json.RawMessage(`{"path":"b"}`)},
		}, Usage: geminitest.Usage{Input: 9, Output: 5, Thoughts: 3, Cached: 4}},
		{Text: "Pictures.", Signature: "c2lnMg==", Finish: "MAX_TOKENS", Expect: []string{"c2lnMQ==", "image/png"}},
		{Text: "No.", Expect: []string{"c2lnMg=="}, Faults: geminitest.Faults{LF: true, Comments: true}},
		{Block: "PROHIBITED_CONTENT"},
		{Finish: "MALFORMED_FUNCTION_CALL"},
		{Text: "Half", Error: "UNAVAILABLE"},
		{Status: 429, Raw: `{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := exec.CommandContext(t.Context(), node(t), "fixture/gemini.mjs", s.URL, "a-key").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type functionCall struct {
		ID, Name string
		Args     map[string]string
	}
	type part struct {
		Text             string
		FunctionCall     functionCall
		ThoughtSignature string
	}
	type turn struct {
		Parts                   []part
		Thoughts, Reason, Block string
		Usage                   map[string]any
	}
	var got struct {
		Models []string
		Tokens int
		Turns  []turn
		Errors []struct {
			Name, Message string
			Status        int
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []part{
		{Text: "Look"}, {Text: "ing."},
		{FunctionCall: functionCall{"x1", "see", map[string]string{"path": "a ü"}}, ThoughtSignature: "c2lnMQ=="},
		{FunctionCall: functionCall{"x2", "see", map[string]string{"path": "b"}}},
	}
	first, second := got.Turns[0], got.Turns[1]
	if d := cmp.Diff(want, first.Parts); d != "" || first.Thoughts != "Both files." || first.Reason != "STOP" ||
		first.Usage["cachedContentTokenCount"] != 4.0 || first.Usage["totalTokenCount"] != 17.0 {
		t.Errorf("%s: %+v", d, first)
	}
	if d := cmp.Diff([]part{{Text: "Pictures."}, {ThoughtSignature: "c2lnMg=="}}, second.Parts); d != "" || second.Reason != "MAX_TOKENS" {
		t.Errorf("%s: %+v", d, second)
	}
	if got.Turns[2].Parts[0].Text != "No." || got.Turns[3].Block != "PROHIBITED_CONTENT" || got.Turns[4].Reason != "MALFORMED_FUNCTION_CALL" {
		t.Errorf("%+v", got.Turns[2:])
	}
	if strings.Join(got.Models, " ") != "models/gemini-x models/gemini-y" || got.Tokens == 0 {
		t.Errorf("models %v, %d tokens", got.Models, got.Tokens)
	}
	for i, want := range []struct {
		status int
		text   string
	}{{503, "The model is overloaded."}, {429, "Slow down."}, {400, "Thought signature is not valid."}, {400, "API key not valid."}} {
		if e := got.Errors[i]; e.Name != "ApiError" || e.Status != want.status || !strings.Contains(e.Message, want.text) {
			t.Errorf("error %d: %+v", i, e)
		}
	}
	// The request with another signature is all that was not as scripted.
	if err := s.Err(); err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "Thought signature is not valid.") {
		t.Errorf("got %v", err)
	}
}
