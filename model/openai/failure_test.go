package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai"
)

func TestFailures(t *testing.T) {
	text := `data: {"choices":[{"delta":{"content":"half"}}]}` + "\n\n"
	errObj := func(code, message string) string {
		return `{"error":{"message":"` + message + `","type":"x","code":"` + code + `"}}`
	}
	tests := []struct {
		name string
		a    answer
		kind model.Kind
		said string // emitted before
		want string // in the error's text
	}{
		{"401", answer{Status: 401, Raw: errObj("invalid_api_key", "bad key")}, model.ErrCredentials, "", "status 401: bad key\nThe server requires an API key."},
		{"403 without a word", answer{Status: 403}, model.ErrCredentials, "", "status 403: Forbidden"},
		{"404", answer{Status: 404, Raw: errObj("model_not_found", "no such model")}, model.ErrUnknownModel, "", "no such model\nCheck the model name."},
		{"400, a page", answer{Status: 400, Raw: "<html>\n<title>Bad gate</title>"}, model.ErrRejected, "", "status 400: a web page (\"Bad gate\"), possibly from a proxy"},
		{"422, in FastAPI's words", answer{Status: 422, Raw: `{"detail":[{"msg":"field required"}]}`}, model.ErrRejected, "", "field required"},
		{"quota", answer{Status: 429, Raw: errObj("insufficient_quota", "pay first")}, model.ErrQuota, "", "pay first"},
		{"rate limit with a long wait", answer{Status: 429, Header: map[string]string{"Retry-After": "3600"}, Raw: errObj("rate_limit_exceeded", "slow down")}, model.ErrRateLimit, "", "slow down\nThe server asks to wait 1h0m0s, longer than the limit of 100ms. Run again later, or use another model."},
		{"malformed JSON", answer{Raw: "data: {\"choices\":[{]}\n\ndata: [DONE]\n\n"}, model.ErrWire, "", `an invalid chunk: invalid character ']' looking for beginning of object key string: {"choices":[{]}`},
		{"malformed JSON after text", answer{Raw: text + "data: {oops\n\ndata: [DONE]\n\n"}, model.ErrWire, "half", "oops"},
		{"garbage", answer{Raw: "\x00\x01\x02 garbage"}, model.ErrCut, "", "the stream ended too early"},
		{"a web page", answer{Raw: " <html>"}, model.ErrWire, "", "a web page\nCheck the base URL"},
		{"JSON that is no answer", answer{Raw: `{"hello":1}`}, model.ErrWire, "", "no choices"},
		{"JSON that is cut", answer{Raw: `{"choices":[`}, model.ErrWire, "", "not JSON"},
		{"an error in the stream after text", answer{Raw: text + "data: " + errObj("overloaded", "too busy") + "\n\n"}, model.ErrServer, "half", "stopped its answer: too busy"},
		{"an error as a plain string", answer{Raw: `data: {"error":"out of memory"}` + "\n\n", Faults: faults{}}, model.ErrServer, "", "out of memory"},
		{"cut after text", answer{Text: "half and half", Faults: faults{Split: 4, Cut: 450}}, model.ErrCut, "half", "cut off after part of it arrived"},
		{"ended after text", answer{Text: "half and half", Faults: faults{Split: 4, End: 450}}, model.ErrCut, "half", "cut off"},
		{"ended in good order, but without an end", answer{Raw: text}, model.ErrCut, "half", "the stream ended too early after part of it arrived"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := open(t, script{Repeat: true, Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			for n := range 6 { // the notices of retries are not what this is about
				got = strings.TrimPrefix(got, fmt.Sprintf("retry %d\n", n+1))
			}
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(got, tt.said) {
				t.Errorf("said %q, then %v", got, err)
			}
			if tt.said == "" && got != "" {
				t.Errorf("said %q", got)
			}
		})
	}
}

// A call that was emitted may have run: the request is never sent again, whatever happens next.
func TestNoRetryOnceSomethingWasSaid(t *testing.T) {
	calls := []call{{ID: "a", Name: "f", Args: json.RawMessage(`{}`)}, {ID: "b", Name: "f", Args: json.RawMessage(`{"x":"long enough to be cut"}`)}}
	for _, a := range []answer{
		{Text: "abc", Faults: faults{Split: 1, Cut: 400}},
		{Calls: calls, Faults: faults{Split: 2, Cut: 1200}},
	} {
		m, srv := open(t, script{Answers: []answer{a, {Text: "again"}}})
		got, err := play(t.Context(), m, request("hi"))
		if !errors.Is(err, model.ErrCut) || got == "" || strings.Contains(got, "again") || strings.Contains(got, "retry") {
			t.Errorf("got %q, %v", got, err)
		}
		if n := len(srv.Requests()); n != 1 {
			t.Errorf("%d requests were sent", n)
		}
		_, _ = play(t.Context(), m, request("hi")) // the script wants to be played to its end
	}
}

func TestRetriesUntilItWorks(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{
		{Status: 429, Raw: `{"error":{"message":"slow down"}}`, Header: map[string]string{"Retry-After": "0"}},
		{Status: 500},
		{Text: "never seen", Faults: faults{Cut: 5}},
		{Raw: `data: {"error":{"message":"overloaded","code":529}}` + "\n\n"},
		{Text: "there"},
	}})
	got, err := play(t.Context(), m, request("hi"))
	if want := "retry 1\nretry 2\nretry 3\nretry 4\nthere\nend stop"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, r := range srv.Requests() {
		if r.Body != srv.Requests()[0].Body {
			t.Error("a retry sent another body")
		}
	}
}

func TestUnreachableNamesTheURL(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://me:secret@" + l.Addr().String() + "/v1"
	l.Close()
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: base, Model: "m", Key: "hush", Retry: api.Retry{First: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := play(t.Context(), m, request("hi"))
	if !errors.Is(err, model.ErrUnreachable) || !strings.Contains(err.Error(), l.Addr().String()+"/v1/chat/completions") || got != "retry 1\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error tells secrets: %v", err)
	}
}

func TestLearnsWhatAServerDoesNotTake(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{
		{Status: 400, Raw: `{"error":{"message":"unknown field stream_options"}}`},
		{Status: 400, Raw: `{"error":{"message":"'max_tokens' is not supported; use 'max_completion_tokens'"}}`},
		{Text: "a"}, {Text: "b"},
	}})
	r := request("hi")
	r.MaxTokens = 7
	for _, want := range []string{"a\nend stop", "b\nend stop"} {
		if got, err := play(t.Context(), m, r); got != want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for _, r := range srv.Requests()[2:] {
		if strings.Contains(r.Body, "stream_options") || !strings.Contains(r.Body, `"max_completion_tokens":7`) {
			t.Errorf("sent %s", r.Body)
		}
	}
}

// Each server has its own words for a conversation that is too long. The request is not sent again, and the error says
// what to do.
func TestContextLength(t *testing.T) {
	said := func(message string) string { return `{"error":{"message":"` + message + `"}}` }
	for name, a := range map[string]answer{
		"OpenAI":         {Status: 400, Raw: `{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`},
		"OpenAI, newer":  {Status: 400, Raw: said("Your input exceeds the context window of this model.")},
		"vLLM":           {Status: 400, Raw: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`},
		"vLLM, newer":    {Status: 400, Raw: said("The decoder prompt (length 40000) is longer than the maximum model length of 32768.")},
		"vLLM, the room": {Status: 400, Raw: said("'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens")},
		"llama.cpp":      {Status: 400, Raw: `{"error":{"code":400,"message":"request (9000 tokens) is too large","type":"exceed_context_size_error","n_ctx":4096}}`},
		"llama.cpp, old": {Status: 500, Raw: said("the request exceeds the available context size. try increasing the context size")},
		"Ollama":         {Status: 400, Raw: `{"error":"prompt too long; exceeded max context length by 4 tokens"}`},
		"Ollama, input":  {Status: 500, Raw: `{"error":{"message":"input length exceeds the context length","type":"api_error"}}`},
		"OpenRouter":     {Status: 400, Raw: said("This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens")},
		"LM Studio":      {Status: 400, Raw: `{"error":"The number of tokens to keep from the initial prompt is greater than the context length"}`},
		"LM Studio, SSE": {Raw: "event: error\ndata: " + said("Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens") + "\n\n"},
		"SGLang":         {Status: 400, Raw: said("The input (5000 tokens) is longer than the model's context length (4096 tokens).")},
		"DashScope":      {Status: 400, Raw: said("InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]")},
		"Moonshot":       {Status: 400, Raw: said("Invalid request: Your request exceeded model token limit: 262144")},
		"Gemini":         {Status: 400, Raw: said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")},
		"without a word": {Status: 413},
	} {
		t.Run(name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{a}})
			_, err := play(t.Context(), m, request("hi"))
			if !errors.Is(err, model.ErrContextLength) {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"shorter prompt", "tool results", "a larger window", "model.generationConfig.contextWindowSize"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if n := len(srv.Requests()); n != 1 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// Calls that were complete when the answer broke off are emitted, and no other.
func TestBrokenAnswerHandsOutCompleteCalls(t *testing.T) {
	calls := []call{
		{ID: "a", Name: "one", Args: json.RawMessage(`{"x":1}`)},
		{ID: "b", Name: "two", Args: json.RawMessage(`{"x":"[]{}"}`)},
		{ID: "c", Name: "three", Args: json.RawMessage(`{"x":"unfinished"}`)},
	}
	const finish = `"finish_reason":"tool_calls"`
	for _, tt := range []struct {
		name string
		a    answer
		want string
	}{
		{"before the end", answer{Text: "hm", Calls: calls[:2], Faults: faults{CutBefore: finish}}, "hm\na one {\"x\":1}\nb two {\"x\":\"[]{}\"}"},
		{"one call and nothing else", answer{Calls: calls[:1], Faults: faults{CutBefore: finish}}, "\na one {\"x\":1}"},
		{"in the third", answer{Calls: calls, Faults: faults{Split: 4, CutBefore: `"shed"`}}, "\na one {\"x\":1}\nb two {\"x\":\"[]{}\"}"},
		{"after the name of the third", answer{Calls: calls, Faults: faults{Split: 4, CutBefore: `"index":2,"function"`}}, "\na one {\"x\":1}\nb two {\"x\":\"[]{}\"}"},
		{"in text that may be a tag", answer{Text: "<think>so</think>a<", Faults: faults{Split: 1, CutBefore: `"finish_reason":"stop"`}}, "(s)(o)a<"},
		{"an error in the stream", answer{Raw: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}` + "\n\n" +
			`data: {"error":{"message":"busy","code":503}}` + "\n\n"}, "\na one {}"},
		{"an error that is not a break", answer{Raw: `data: {"choices":[{"delta":{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}` + "\n\n" +
			`data: {"choices":[{]}` + "\n\ndata: [DONE]\n\n"}, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			if err == nil || got != tt.want || len(srv.Requests()) != 1 {
				t.Errorf("got %q, %v after %d requests", got, err, len(srv.Requests()))
			}
		})
	}
}
