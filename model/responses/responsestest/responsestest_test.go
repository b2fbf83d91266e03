package responsestest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/responses/responsestest"
)

// post sends a body as a client does.
func post(t *testing.T, s *responsestest.Server, key, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

const hi = `{"model":"m","input":"hi","stream":true}`

// The stream is that of the real server: its events, their order and their fields.
func TestStream(t *testing.T) {
	s := responsestest.Serve(t, responsestest.Script{Key: "k", Answers: []responsestest.Answer{{
		Thought: "hm", Encrypted: "gA", Text: "Now: ü",
		Calls: []responsestest.Call{{ID: "call_1", Namespace: "n", Name: "clock", Args: json.RawMessage(`{"a": 1}`)},
			{ID: "call_2", Name: "patch", Args: json.RawMessage(`"*** x"`), Custom: true}},
		Usage:  responsestest.Usage{Input: 3, Output: 7, Cached: 2, Reasoning: 1},
		Faults: responsestest.Faults{Split: 5, Chunk: 3},
	}}})
	_, got := post(t, s, "k", hi)
	response := func(status, output, usage string) string {
		return `"response":{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","background":false,"error":null,"incomplete_details":null,` +
			`"instructions":null,"model":"m","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,"store":false,"usage":` + usage + `,"metadata":{}}`
	}
	reasoning := `{"id":"rs_1_0","type":"reasoning","encrypted_content":"gA","summary":[{"type":"summary_text","text":"hm"}]}`
	message := `{"id":"msg_1_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Now: ü"}],"role":"assistant"}`
	call := `{"id":"fc_1_2","type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"call_1","name":"clock","namespace":"n"}`
	custom := `{"id":"ctc_1_3","type":"custom_tool_call","status":"completed","input":"*** x","call_id":"call_2","name":"patch"}`
	var want strings.Builder
	for i, e := range [][2]string{
		{"response.created", response("in_progress", "", "null")},
		{"response.in_progress", response("in_progress", "", "null")},
		{"response.output_item.added", `"item":{"id":"rs_1_0","type":"reasoning","encrypted_content":"gA","summary":[]},"output_index":0`},
		{"response.reasoning_summary_part.added", `"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`},
		{"response.reasoning_summary_text.delta", `"item_id":"rs_1_0","output_index":0,"summary_index":0,"delta":"hm"`},
		{"response.reasoning_summary_text.done", `"item_id":"rs_1_0","output_index":0,"summary_index":0,"text":"hm"`},
		{"response.reasoning_summary_part.done", `"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"hm"}`},
		{"response.output_item.done", `"item":` + reasoning + `,"output_index":0`},
		{"response.output_item.added", `"item":{"id":"msg_1_1","type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":1`},
		{"response.content_part.added", `"content_index":0,"item_id":"msg_1_1","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`},
		{"response.output_text.delta", `"content_index":0,"item_id":"msg_1_1","output_index":1,"delta":"Now: "`},
		{"response.output_text.delta", `"content_index":0,"item_id":"msg_1_1","output_index":1,"delta":"ü"`},
		{"response.output_text.done", `"content_index":0,"item_id":"msg_1_1","output_index":1,"text":"Now: ü"`},
		{"response.content_part.done", `"content_index":0,"item_id":"msg_1_1","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Now: ü"}`},
		{"response.output_item.done", `"item":` + message + `,"output_index":1`},
		{"response.output_item.added", `"item":{"id":"fc_1_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"clock","namespace":"n"},"output_index":2`},
		{"response.function_call_arguments.delta", `"item_id":"fc_1_2","output_index":2,"delta":"{\"a\":"`},
		{"response.function_call_arguments.delta", `"item_id":"fc_1_2","output_index":2,"delta":"1}"`},
		{"response.function_call_arguments.done", `"item_id":"fc_1_2","output_index":2,"arguments":"{\"a\":1}"`},
		{"response.output_item.done", `"item":` + call + `,"output_index":2`},
		{"response.output_item.added", `"item":{"id":"ctc_1_3","type":"custom_tool_call","status":"in_progress","input":"","call_id":"call_2","name":"patch"},"output_index":3`},
		{"response.custom_tool_call_input.delta", `"item_id":"ctc_1_3","output_index":3,"delta":"*** x"`},
		{"response.custom_tool_call_input.done", `"item_id":"ctc_1_3","output_index":3,"input":"*** x"`},
		{"response.output_item.done", `"item":` + custom + `,"output_index":3`},
		{"response.completed", response("completed", strings.Join([]string{reasoning, message, call, custom}, ","),
			`{"input_tokens":3,"input_tokens_details":{"cached_tokens":2},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":10}`)},
	} {
		n, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString("event: " + e[0] + "\ndata: {\"type\":\"" + e[0] + "\"," + e[1] + `,"sequence_number":` + string(n) + "}\n\n")
	}
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestOtherAnswers(t *testing.T) {
	s := responsestest.Serve(t, responsestest.Script{Key: "k", Answers: []responsestest.Answer{
		{Text: "half", Error: "server_error"},
		{Text: "half", Incomplete: "max_output_tokens"},
		{Refusal: "No."},
		{Status: 429, Raw: `{"error":{}}`, Header: map[string]string{"Retry-After": "1"}},
	}})
	for _, want := range []string{
		`"status":"failed","background":false,"error":{"code":"server_error","message":"The model failed: server_error."}`,
		`event: response.incomplete`,
	} {
		if _, got := post(t, s, "k", hi); !strings.Contains(got, want) || strings.Contains(got, "response.completed") {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if _, got := post(t, s, "k", `{"model":"m","input":[]}`); !strings.HasPrefix(got, `{"id":"resp_3"`) || !strings.Contains(got, `"content":[{"type":"refusal","refusal":"No."}]`) {
		t.Error(got)
	}
	if status, got := post(t, s, "k", hi); status != 429 || got != `{"error":{}}` {
		t.Error(status, got)
	}
}

// A request that the real server rejects does not get an answer, and fails the test.
func TestRejects(t *testing.T) {
	for name, c := range map[string]struct{ key, body, want string }{
		"no key":            {"", hi, `"code":"invalid_api_key"`},
		"no model":          {"k", `{"input":"hi"}`, "'model'"},
		"no input":          {"k", `{"model":"m"}`, "'input'"},
		"no output":         {"k", `{"model":"m","input":[{"type":"function_call","call_id":"a"}]}`, "No tool output found for function call a."},
		"no call":           {"k", `{"model":"m","input":[{"type":"function_call_output","call_id":"a"}]}`, "No tool call found"},
		"another reasoning": {"k", `{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"x"}]}`, "could not be verified"},
		"no summary":        {"k", `{"model":"m","input":[{"type":"reasoning","encrypted_content":"gA"}]}`, "'input[0].summary'"},
		"reasoning alone":   {"k", `{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"gA"},{"role":"user","content":"a"}]}`, "required following item"},
		"reasoning by ID":   {"k", `{"model":"m","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[]}]}`, "Items are not persisted"},
		"a parameter":       {"k", `{"model":"m","input":"hi","max_tokens":1}`, "Unknown parameter: 'max_tokens'."},
		"a member":          {"k", `{"model":"m","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"a","args":"{}"}]}`, "Unknown parameter: 'input[1].args'."},
		"a role's content":  {"k", `{"model":"m","input":[{"role":"assistant","content":[{"type":"input_text","text":"a"}]}]}`, "Invalid value: 'input_text'"},
		"a text's text":     {"k", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text"}]}]}`, "'input[0].content[0].text'"},
		"no content":        {"k", `{"model":"m","input":[{"role":"user","content":null}]}`, "Invalid type for 'input[0].content'"},
		"an image":          {"k", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"AAAA"}]}]}`, "image_url'"},
		"a file":            {"k", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_data":"AAAA"}]}]}`, "file_data'"},
		"arguments":         {"k", `{"model":"m","input":[{"type":"function_call","call_id":"a","name":"n","arguments":{}}]}`, "'input[0].arguments'"},
		"a call's name":     {"k", `{"model":"m","input":[{"type":"function_call","call_id":"a","name":"n m","arguments":"{}"}]}`, "'input[0].name'"},
		"a long ID":         {"k", `{"model":"m","input":[{"type":"function_call","call_id":"` + strings.Repeat("a", 65) + `","name":"n"}]}`, "maximum length 64"},
		"a tool's name":     {"k", `{"model":"m","input":"hi","tools":[{"type":"function","name":"a.b"}]}`, "'tools[0].name'"},
		"no type":           {"k", `{"model":"m","input":[{}]}`, "'input[0].type'"},
	} {
		s, err := responsestest.Start(responsestest.Script{Key: "k", Answers: []responsestest.Answer{{Encrypted: "gA"}}})
		if err != nil {
			t.Fatal(err)
		}
		if status, got := post(t, s, c.key, c.body); status < 400 || status > 401 || !strings.Contains(got, c.want) || s.Err() == nil {
			t.Errorf("%s: %d %s, %v", name, status, got, s.Err())
		}
		s.Close()
	}
}

func TestParse(t *testing.T) {
	s, err := responsestest.Parse([]byte(`{"key":"k","answers":[{"text":"$A","calls":[{"id":"c","name":"n","args":{"p":"$A"}}]}]}`), map[string]string{"$A": `b\`})
	if err != nil || s.Answers[0].Text != `b\` || string(s.Answers[0].Calls[0].Args) != `{"p":"b\\"}` {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := responsestest.Parse([]byte(`{"answers":[{"txt":"a"}]}`), nil); err == nil || !strings.Contains(err.Error(), `"txt"`) {
		t.Errorf("a misspelt key: %v", err)
	}
}
