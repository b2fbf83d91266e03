package anthropictest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

// post sends a body as a client does.
func post(t *testing.T, s *anthropictest.Server, path, body string, edit ...func(http.Header)) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "k")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	for _, f := range edit {
		f(r.Header)
	}
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

const hi = `"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`

// The stream is that of the real server: its events, their order and their fields.
func TestStream(t *testing.T) {
	s := anthropictest.Serve(t, anthropictest.Script{Key: "k", Answers: []anthropictest.Answer{{
		Thought: "hm, ü", Signature: "sig", Redacted: "data", Text: "Now.",
		Calls:  []anthropictest.Call{{ID: "toolu_1", Name: "clock", Args: json.RawMessage(`{"zone": "<utc>"}`)}},
		Usage:  anthropictest.Usage{Input: 3, Output: 7, CacheRead: 2, CacheWrite: 1},
		Faults: anthropictest.Faults{Split: 4, Chunk: 3},
	}}})
	_, got := post(t, s, "/v1/messages", `{`+hi+`,"stream":true}`)
	want := `event: message_start
data: {"type":"message_start","message":{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ü"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"data"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Now."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"clock","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"zo"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"ne\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"<ut"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"c>\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOtherAnswers(t *testing.T) {
	s := anthropictest.Serve(t, anthropictest.Script{Key: "k", Answers: []anthropictest.Answer{
		{Text: "half", Error: "overloaded_error"},
		{Text: "whole", Stop: "max_tokens", Usage: anthropictest.Usage{Output: 2}},
		{Status: 529, Raw: `{"type":"error"}`},
	}})
	_, got := post(t, s, "/v1/messages", `{`+hi+`,"stream":true}`)
	if !strings.HasSuffix(got, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n") || strings.Contains(got, "message_stop") {
		t.Error(got)
	}
	_, got = post(t, s, "/v1/messages", `{`+hi+`}`)
	if want := `{"model":"m","id":"msg_2","type":"message","role":"assistant","content":[{"type":"text","text":"whole"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`; got != want {
		t.Error(got)
	}
	if status, got := post(t, s, "/v1/messages", `{`+hi+`}`); status != 529 || got != `{"type":"error"}` {
		t.Error(status, got)
	}
	if status, got := post(t, s, "/v1/messages/count_tokens", `{"m":"12345"}`); status != 200 || got != `{"input_tokens":3}` {
		t.Error(status, got)
	}
	if n := len(s.Requests()); n != 4 || s.Requests()[3].Path != "/v1/messages/count_tokens" {
		t.Error(n)
	}
}

// A request that the real server rejects does not get an answer, and fails the test.
func TestRejects(t *testing.T) {
	call := `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}`
	for name, c := range map[string]struct {
		body string
		edit func(http.Header)
		want string
	}{
		"no key":            {`{` + hi + `}`, func(h http.Header) { h.Del("X-Api-Key") }, `"authentication_error"`},
		"no version":        {`{` + hi + `}`, func(h http.Header) { h.Del("Anthropic-Version") }, "anthropic-version: header is required"},
		"no max_tokens":     {`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, nil, "max_tokens: Field required"},
		"no messages":       {`{"model":"m","max_tokens":9}`, nil, "messages: at least one"},
		"no result":         {`{"model":"m","max_tokens":9,"messages":[` + call + `]}`, nil, "messages.1: `tool_use` ids were found without"},
		"a later result":    {`{"model":"m","max_tokens":9,"messages":[` + call + `,{"role":"user","content":"x"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, nil, "messages.1: `tool_use` ids were found without"},
		"another result":    {`{"model":"m","max_tokens":9,"messages":[` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}]}`, nil, "unexpected `tool_use_id`"},
		"a changed thought": {`{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm!","signature":"sig"}]}]}`, nil, "Invalid `signature`"},
	} {
		s, err := anthropictest.Start(anthropictest.Script{Key: "k", Answers: []anthropictest.Answer{{Thought: "hm", Signature: "sig"}}})
		if err != nil {
			t.Fatal(err)
		}
		if c.edit == nil {
			c.edit = func(http.Header) {}
		}
		status, got := post(t, s, "/v1/messages", c.body, c.edit)
		if status < 400 || status > 401 || !strings.Contains(got, c.want) || s.Err() == nil {
			t.Errorf("%s: %d %s, %v", name, status, got, s.Err())
		}
		s.Close()
	}
}

func TestParse(t *testing.T) {
	s, err := anthropictest.Parse([]byte(`{"key":"k","answers":[{"text":"$A","faults":{"pause":"1ms"}}]}`), map[string]string{"$A": "b"})
	if err != nil || s.Answers[0].Text != "b" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := anthropictest.Parse([]byte(`{"answers":[{"txt":"a"}]}`), nil); err == nil || !strings.Contains(err.Error(), `"txt"`) {
		t.Errorf("a misspelt key: %v", err)
	}
}
