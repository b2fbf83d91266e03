package peers

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

// Anthropic's own SDK understands the scripted server, so that what the adapter is tested with is the real protocol.
func TestAnthropicSDK(t *testing.T) {
	s, err := anthropictest.Start(anthropictest.Script{Key: "a-key", Bound: true, Models: []string{"claude-x", "claude-y"}, Answers: []anthropictest.Answer{
		{Thought: "Both files.", Signature: "sig1", Redacted: "hidden", Text: "Looking.", Faults: anthropictest.Faults{Split: 2, Chunk: 7}, Calls: []anthropictest.Call{
			{ID: "toolu_1", Name: "see", Args: raw(t, object{"path": "a ü"})}, {ID: "toolu_2", Name: "see", Args: raw(t, object{"path": "b"})},
		}, Usage: anthropictest.Usage{Input: 3, Output: 9, CacheWrite: 5}},
		{Signature: "sig2", Text: "Pictures.", Stop: "max_tokens", Expect: []string{"sig1", "hidden", "image/png"}},
		{Status: 529, Header: map[string]string{"Retry-After-Ms": "1"}, Raw: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{Text: "Whole.", Usage: anthropictest.Usage{CacheRead: 5}},
		{Text: "Half", Error: "overloaded_error"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := exec.CommandContext(t.Context(), node(t), "fixture/anthropic.mjs", s.URL, "a-key").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type content struct {
		Type, Text, Thinking, Signature, Data, ID string
		Input                                     map[string]string
	}
	type message struct {
		Content    []content
		StopReason string         `json:"stop_reason"`
		Usage      map[string]any // of the API's own
	}
	var got struct {
		Events               map[string]int
		Models               []string
		First, Second, Plain message
		Errors               []struct {
			Name, Type, Message string
			Status              int
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []content{
		{Type: "thinking", Thinking: "Both files.", Signature: "sig1"}, {Type: "redacted_thinking", Data: "hidden"}, {Type: "text", Text: "Looking."},
		{Type: "tool_use", ID: "toolu_1", Input: map[string]string{"path": "a ü"}}, {Type: "tool_use", ID: "toolu_2", Input: map[string]string{"path": "b"}},
	}
	if d := cmp.Diff(want, got.First.Content); d != "" || got.First.StopReason != "tool_use" || got.First.Usage["cache_creation_input_tokens"] != 5.0 || got.First.Usage["output_tokens"] != 9.0 {
		t.Errorf("%s: %+v", d, got.First)
	}
	want = []content{{Type: "thinking", Signature: "sig2"}, {Type: "text", Text: "Pictures."}}
	if d := cmp.Diff(want, got.Second.Content); d != "" || got.Second.StopReason != "max_tokens" {
		t.Errorf("%s: %+v", d, got.Second)
	}
	if got.Plain.Content[0].Text != "Whole." || got.Plain.Usage["cache_read_input_tokens"] != 5.0 || strings.Join(got.Models, " ") != "claude-x claude-y" {
		t.Errorf("%+v %v", got.Plain, got.Models)
	}
	if got.Events["message_start"] != 3 || got.Events["message_stop"] != 2 {
		t.Errorf("events %v", got.Events)
	}
	for i, text := range []string{"Overloaded", "prompt_cache_key: Extra inputs are not permitted", "invalid x-api-key"} {
		if e := got.Errors[i]; !strings.Contains(e.Message, text) {
			t.Errorf("error %d: %+v", i, e)
		}
	}
	if got.Errors[1].Status != 400 || got.Errors[2].Name != "AuthenticationError" {
		t.Errorf("errors %+v", got.Errors)
	}
	// The request with an unknown member is all that was not as scripted.
	if err := s.Err(); err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "prompt_cache_key") {
		t.Errorf("got %v", err)
	}
}
