package anthropictest_test

import (
	"encoding/base64"
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
data: {"type":"message_start","message":{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":1}}}

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
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"clock","input":{},"caller":{"type":"direct"}}}

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
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":7}}

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
	if want := `{"model":"m","id":"msg_2","type":"message","role":"assistant","content":[{"type":"text","text":"whole"}],"stop_reason":"max_tokens","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`; got != want {
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
	asks := `{"role":"user","content":"hi"}`
	call := asks + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	said := func(blocks string) string { return asks + `,{"role":"assistant","content":[` + blocks + `]},` + asks }
	result := func(more string) string {
		return call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",` + more + `}]}`
	}
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`
	text := `{"type":"text","text":"a"}`
	mark := `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`
	for name, c := range map[string]struct {
		messages string
		more     string // members of the request
		want     string
	}{
		"no messages":           {``, ``, "messages: at least one"},
		"an unknown member":     {asks, `,"prompt_cache_key":"k"`, "prompt_cache_key: Extra inputs are not permitted"},
		"a beta without header": {asks, `,"context_management":{}`, "context_management: Extra inputs are not permitted"},
		"another role":          {`{"role":"tool","content":"x"}`, ``, "messages.0.role"},
		"no content":            {`{"role":"user","content":[]}`, ``, "messages.0: all messages must have non-empty content"},
		"empty text":            {`{"role":"user","content":""}`, ``, "must be non-empty"},
		"blank text":            {`{"role":"user","content":[{"type":"text","text":"\n"}]}`, ``, "non-whitespace"},
		"an unknown block":      {`{"role":"user","content":[{"type":"input_text","text":"a"}]}`, ``, "Input tag 'input_text'"},
		"a member of a block":   {`{"role":"user","content":[{"type":"text","text":"a","id":"b"}]}`, ``, "messages.0.content.0.text.id: Extra inputs"},
		"no result":             {call, ``, "messages.1: `tool_use` ids were found without"},
		"a later result":        {call + `,` + asks + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`, ``, "messages.1: `tool_use` ids were found without"},
		"text before a result":  {call + `,{"role":"user","content":[` + text + `,{"type":"tool_result","tool_use_id":"a"}]}`, ``, "messages.1: `tool_use` ids were found without"},
		"another result":        {call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`, ``, "unexpected `tool_use_id`"},
		"an id twice":           {result(`"content":"x"`) + call[len(asks):] + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`, ``, "ids must be unique"},
		"a strange id":          {said(`{"type":"tool_use","id":"a.b","name":"f","input":{}}`), ``, "tool_use.id: String should match"},
		"a strange name":        {said(`{"type":"tool_use","id":"a","name":"f.g","input":{}}`), ``, "tool_use.name: String should match"},
		"arguments as text":     {said(`{"type":"tool_use","id":"a","name":"f","input":"{}"}`), ``, "tool_use.input: Input should be a valid dictionary"},
		"an error with image":   {result(`"is_error":true,"content":[` + image + `]`), ``, "all content must be type"},
		"a result with a call":  {result(`"content":[{"type":"tool_use","id":"b","name":"f","input":{}}]`), ``, "Input tag 'tool_use'"},
		"an image type":         {`{"role":"user","content":[` + strings.Replace(image, "/png", "/bmp", 1) + `]}`, ``, "media_type: Input should be"},
		"an image's type":       {`{"role":"user","content":[` + strings.Replace(image, "/png", "/gif", 1) + `]}`, ``, "Could not process image"},
		"a changed thought":     {said(`{"type":"thinking","thinking":"hm!","signature":"sig"},` + text), ``, "Invalid `signature`"},
		"no signature":          {said(`{"type":"thinking","thinking":"hm"},` + text), ``, "thinking.signature: Field required"},
		"only a thought":        {said(`{"type":"thinking","thinking":"hm","signature":"sig"}`), ``, "cannot be `thinking`"},
		"five marks":            {`{"role":"user","content":[` + strings.Join([]string{mark, mark, mark, mark, mark}, ",") + `]}`, ``, "Found 5"},
		"a small budget":        {asks, `,"thinking":{"type":"enabled","budget_tokens":1000}`, "greater than or equal to 1024"},
		"a large budget":        {asks, `,"thinking":{"type":"enabled","budget_tokens":3000}`, "`max_tokens` must be greater"},
		"adaptive with budget":  {asks, `,"thinking":{"type":"adaptive","budget_tokens":1024}`, "thinking.adaptive.budget_tokens: Extra"},
		"binding without beta":  {asks, `,"thinking":{"type":"adaptive","block_binding":{}}`, "thinking.adaptive.block_binding: Extra"},
		"a tool without schema": {asks, `,"tools":[{"name":"f"}]`, "tools.0.custom.input_schema: Field required"},
		"a tool's parameters":   {asks, `,"tools":[{"name":"f","parameters":{}}]`, "tools.0.custom.parameters: Extra"},
		"a tool twice":          {asks, `,"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, "must be unique"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, `{"model":"m","max_tokens":2048,"messages":[`+c.messages+`]`+c.more+`}`, c.want)
		})
	}
	refused(t, `{`+hi+`}`, `"authentication_error"`, func(h http.Header) { h.Del("X-Api-Key") })
	refused(t, `{`+hi+`}`, "anthropic-version: header is required", func(h http.Header) { h.Del("Anthropic-Version") })
	refused(t, `{"model":"m","messages":[`+asks+`]}`, "max_tokens: Field required")
}

// refused sends a request that gets an error with a text.
func refused(t *testing.T, body, want string, edit ...func(http.Header)) {
	t.Helper()
	s, err := anthropictest.Start(anthropictest.Script{Key: "k", Answers: []anthropictest.Answer{{Thought: "hm", Signature: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status, got := post(t, s, "/v1/messages", body, edit...)
	var e struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(got), &e); err != nil {
		t.Fatal(err)
	}
	if status < 400 || status > 401 || !strings.Contains(`"`+e.Error.Type+`" `+e.Error.Message, want) || s.Err() == nil {
		t.Errorf("%d %s, %v", status, got, s.Err())
	}
}

// Thinking of newer models is bound to all that came before it, except for marks of the cache.
func TestBound(t *testing.T) {
	first := `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	marked := `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`
	next := `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"a"}]},` + first + `]`
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"unchanged":       {`"messages":[` + marked + next, 200},
		"another message": {`"messages":[` + strings.Replace(first, "hi", "ho", 1) + next, 400},
		"another system":  {`"system":"b","messages":[` + first + next, 400},
		"another tool":    {`"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[` + first + next, 400},
	} {
		s, err := anthropictest.Start(anthropictest.Script{Bound: true, Key: "k", Answers: []anthropictest.Answer{
			{Thought: "hm", Signature: "sig", Text: "a"}, {Text: "b"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		post(t, s, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[`+first+`]}`)
		status, got := post(t, s, "/v1/messages", `{"model":"m","max_tokens":9,`+c.body+`}`)
		if status != c.want || c.want == 400 && !strings.Contains(got, "bound to a different conversation") {
			t.Errorf("%s: %d %s", name, status, got)
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
