package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	script = openaitest.Script
	answer = openaitest.Answer
	faults = openaitest.Faults
	call   = openaitest.Call
)

// open gives a model that talks to a scripted server and does not wait long.
func open(t *testing.T, s script) (*openai.Model, *openaitest.Server) {
	t.Helper()
	srv := openaitest.Serve(t, s)
	m, err := openai.Open(t.Context(), openai.Options{
		BaseURL: srv.URL, Model: "scripted", Retry: api.Retry{First: time.Millisecond, Budget: 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, srv
}

// play ranges over an answer: text and thoughts joined, everything else one line each.
func play(ctx context.Context, m model.Model, r model.Request) (string, error) {
	var b strings.Builder
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			return b.String(), err
		}
		switch e := e.(type) {
		case model.Text:
			b.WriteString(string(e))
		case model.Thought:
			b.WriteString("(" + string(e) + ")")
		case model.Call:
			fmt.Fprintf(&b, "\n%s %s %s", e.ID, e.Name, e.Args)
		case model.Usage:
			fmt.Fprintf(&b, "\nusage %d %d %d", e.Input, e.Output, e.CacheRead)
		case model.Retry:
			fmt.Fprintf(&b, "retry %d\n", e.Attempt)
		case model.End:
			fmt.Fprintf(&b, "\nend %s", e.Reason)
		}
	}
	return b.String(), nil
}

func request(text string) model.Request {
	return model.Request{Messages: []model.Message{model.Prompt(text)}}
}

// The same answer must come out however a server sends it.
func TestAnswerInEveryStyle(t *testing.T) {
	a := answer{
		Text: "Grüße, 世界 😀",
		Calls: []call{
			{ID: "call_0", Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}`)},
			{ID: "call_1", Name: "write_file", Args: json.RawMessage(`{"content":"日本 🎉\n"}`)},
		},
		Usage: &openaitest.Usage{Input: 10, Output: 5, Cached: 4},
	}
	want := "Grüße, 世界 😀" +
		"\ncall_0 read_file " + `{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}` +
		"\ncall_1 write_file " + `{"content":"日本 🎉\n"}` +
		"\nusage 10 5 4\nend calls"
	styles := map[string]faults{
		"at once":                      {},
		"one byte at a time":           {Split: 1},
		"two bytes":                    {Split: 2},
		"seven bytes":                  {Split: 7},
		"no index":                     {NoIndex: true},
		"no index, id in each piece":   {NoIndex: true, RepeatID: true, Split: 1},
		"no index, split":              {NoIndex: true, Split: 3},
		"index 0 for all":              {ZeroIndex: true},
		"index 0 for all, split":       {ZeroIndex: true, Split: 1, RepeatID: true},
		"name and id in each piece":    {RepeatID: true, RepeatName: true, Split: 1},
		"objects":                      {ObjectArgs: true},
		"said again at the end":        {Again: true, Split: 5},
		"no [DONE]":                    {NoDone: true},
		"plain":                        {Plain: true},
		"plain with objects, no index": {Plain: true, ObjectArgs: true, NoIndex: true},
		"CRLF and comments":            {CRLF: true, Comments: true, Split: 2},
	}
	for name, f := range styles {
		t.Run(name, func(t *testing.T) {
			a.Faults = f
			m, _ := open(t, script{Answers: []answer{a}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// Arguments arrive whole wherever the stream's bytes are cut: here the server flushes after every single one.
func TestStreamCutAtEveryByteOfItsTransport(t *testing.T) {
	raw := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"p\":\"\ud83d"}}]}}]}` + "\r\n\r\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\ude00ü\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	for at := 1; at < len(raw); at += 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = c.Read(make([]byte, 64<<10))
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(raw), raw[:at])
			time.Sleep(time.Millisecond) // not synchronization: makes two packets likely
			_, _ = c.Write([]byte(raw[at:]))
		}()
		m, err := openai.Open(t.Context(), openai.Options{BaseURL: "http://" + l.Addr().String(), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := play(t.Context(), m, request("hi"))
		if want := "\na f " + `{"p":"😀ü"}` + "\nend calls"; got != want || err != nil {
			t.Fatalf("cut at %d: %q, %v", at, got, err)
		}
		m.Close()
		l.Close()
	}
}

func TestEnds(t *testing.T) {
	done := "data: [DONE]\n\n"
	chunk := func(choice string) string { return "data: {\"choices\":[" + choice + "]}\n\n" }
	tests := []struct {
		name string
		a    answer
		want string
	}{
		{"length", answer{Text: "a", Finish: "length"}, "a\nend length"},
		{"length in a call", answer{Calls: []call{{ID: "1", Name: "f", Args: json.RawMessage(`"{\"a"`)}}, Finish: "length"}, "\n1 f {\"a\nend length"},
		{"filter", answer{Text: "a", Finish: "content_filter"}, "a\nend filter"},
		{"a word of its own", answer{Text: "a", Finish: "tired"}, "a\nend tired"},
		{"capitals", answer{Text: "a", Finish: "STOP"}, "a\nend stop"},
		{"stop after calls", answer{Calls: []call{{Name: "f"}}, Finish: "stop"}, "\n f {}\nend calls"},
		{"tool_calls without one", answer{Text: "a", Finish: "tool_calls"}, "a\nend stop"},
		{"no finish_reason", answer{Text: "a", Finish: "none"}, "a\nend stop"},
		{"no finish_reason after calls", answer{Calls: []call{{Name: "f"}}, Finish: "none"}, "\n f {}\nend calls"},
		{"nothing said", answer{}, "\nend stop"},
		{"thought", answer{Thought: "hm", Text: "a"}, "(hm)a\nend stop"},
		{"thought in bytes", answer{Thought: "hü", Text: "ä", Faults: faults{Split: 1}}, "(h)(ü)ä\nend stop"},
		{"the other spelling of thoughts", answer{Raw: chunk(`{"delta":{"reasoning":"hm"}}`) + done}, "(hm)\nend stop"},
		{"both spellings", answer{Raw: chunk(`{"delta":{"reasoning":"hm","reasoning_content":"hm"}}`) + done}, "(hm)\nend stop"},
		{"content in parts", answer{Raw: chunk(`{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`) + done}, "ab\nend stop"},
		{"a refusal", answer{Raw: chunk(`{"delta":{"content":null,"refusal":"no"},"finish_reason":"stop"}`) + done}, "no\nend stop"},
		{"another choice", answer{Raw: chunk(`{"index":1,"delta":{"content":"x"}}`) + chunk(`{"index":0,"delta":{"content":"a"}}`) + done}, "a\nend stop"},
		{"one line end between events", answer{Raw: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\ndata: [DONE]\n"}, "ab\nend stop"},
		{"half a character at the end", answer{Raw: chunk(`{"delta":{"content":"a\ud83d"}}`) + done}, "a\ufffd\nend stop"},
		{"usage that is not understood", answer{Raw: chunk(`{"delta":{"content":"a"}}`) + `data: {"choices":[],"usage":{"prompt_tokens":"many"}}` + "\n\n" + done}, "a\nend stop"},
		{"DeepSeek's cache", answer{Raw: chunk(`{"delta":{"content":"a"}}`) + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":8}}` + "\n\n" + done}, "a\nusage 9 1 8\nend stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestFirstModelOfABaseURL(t *testing.T) {
	srv := openaitest.Serve(t, script{Models: []string{"qwen3:4b", "other"}, Answers: []answer{{Expect: []string{`"model":"qwen3:4b"`}, Text: "hi"}}})
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Name() != "qwen3:4b" {
		t.Errorf("Name() = %q", m.Name())
	}
	if got, err := play(t.Context(), m, request("hi")); got != "hi\nend stop" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, r := range srv.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s carries Authorization %q without a key", r.Method, r.Path, r.Header.Get("Authorization"))
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	empty := openaitest.Serve(t, script{Models: []string{}})
	locked := openaitest.Serve(t, script{Key: "sesame"})
	tests := []struct {
		name string
		o    openai.Options
		kind model.Kind
		want string
	}{
		{"no model and no base URL", openai.Options{}, model.ErrRejected, "no model name set for https://api.openai.com/v1\nSet OPENAI_MODEL."},
		{"not a URL", openai.Options{BaseURL: "localhost:8080", Model: "m"}, model.ErrRejected, `invalid base URL "localhost:8080" (expected a URL such as http://127.0.0.1:11434/v1)`},
		{"no models there", openai.Options{BaseURL: empty.URL}, model.ErrRejected, empty.URL + " lists no models\nLoad a model in the server, or set OPENAI_MODEL."},
		{"a key is wanted", openai.Options{BaseURL: locked.URL}, model.ErrCredentials, "GET " + locked.URL + "/models: status 401: Incorrect API key provided\nThe server requires an API key."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openai.Open(t.Context(), tt.o)
			if !errors.Is(err, tt.kind) || err.Error() != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestStoppingEarlyEndsTheRequest(t *testing.T) {
	m, _ := open(t, script{Answers: []answer{{Text: strings.Repeat("x", 1000), Faults: faults{Split: 1, Pause: modeltest.Duration(time.Millisecond)}}}})
	n := 0
	for range m.Stream(t.Context(), request("hi")) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("got %d events", n)
	}
}

func TestCancelEndsTheRequest(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{{Text: "xx", Faults: faults{Split: 1, Pause: modeltest.Duration(time.Hour)}}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		waittest.Holds(func() bool { return srv.Err() == nil }) // the answer has begun
		cancel()
	}()
	if _, err := play(ctx, m, request("hi")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
