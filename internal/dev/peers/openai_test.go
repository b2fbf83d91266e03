package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/responses/responsestest"
	"github.com/google/go-cmp/cmp"
)

// OpenAI's own client understands the scripted server of the Responses API, so the scripts are those of a real server.
func TestOpenAIClientOfResponses(t *testing.T) {
	path := node(t)
	s, err := responsestest.Start(responsestest.Script{Key: "a-key", Models: []string{"scripted", "other"}, Answers: []responsestest.Answer{
		{
			Thought: "I need a clock, ü.", Encrypted: "gAAA", Text: "I look. 😀", Phase: "commentary",
			Calls: []responsestest.Call{{ID: "call_1", Name: "clock", Args: json.RawMessage(`{"zone":"UTC"}`)}, {ID: "call_2", Name: "clock", Args: json.RawMessage(`{}`)}},
			Usage: responsestest.Usage{Input: 9, Output: 7, Cached: 2, Reasoning: 3}, Faults: responsestest.Faults{Split: 2, Chunk: 11},
		},
		{Expect: []string{`"encrypted_content":"gAAA"`, `"phase":"commentary"`, `"call_id":"call_2"`, "noon"}, Text: "It is noon."},
		{Refusal: "I won't."},
		{Text: "It is", Incomplete: "max_output_tokens"},
		{Status: 429, Raw: `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, Header: map[string]string{"Retry-After-Ms": "1"}},
		{Text: "Now."},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cmd := exec.Command(path, "fixture/openai.mjs", s.URL)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=a-key")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%v", err, out, s.Err())
	}
	var got struct {
		Events, Models, Incomplete     []string
		Text, Second, Refusal, Limited string
		Output                         []json.RawMessage
		Usage                          map[string]any
		Errors                         [][]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ what, got, want string }{
		{"models", strings.Join(got.Models, " "), "scripted other"},
		{"text", got.Text, "I look. 😀"},
		{"second", got.Second, "It is noon."},
		{"refusal", got.Refusal, "I won't."},
		{"incomplete", strings.Join(got.Incomplete, " "), "incomplete max_output_tokens"},
		{"limited", got.Limited, "Now."},
		{"usage", string(raw(t, got.Usage)), `{"input_tokens":9,"input_tokens_details":{"cached_tokens":2},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":16}`},
		{"last event", got.Events[len(got.Events)-1], "response.completed"},
		{"errors", string(raw(t, got.Errors)), `[["BadRequestError",400,"400 No tool call found for function call output with call_id x."],` +
			`["BadRequestError",400,"400 Unknown parameter: 'max_tokens'."],["AuthenticationError",401,"401 Incorrect API key provided"]]`},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.what, d)
		}
	}
	if len(got.Output) != 4 || !strings.Contains(string(got.Output[0]), `"text":"I need a clock, ü."`) || !strings.Contains(string(got.Output[2]), `"arguments":"{\"zone\":\"UTC\"}"`) {
		t.Errorf("output %s", got.Output)
	}
}
