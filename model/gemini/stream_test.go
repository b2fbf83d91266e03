package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	script = geminitest.Script
	answer = geminitest.Answer
	faults = geminitest.Faults
	call   = geminitest.Call
)

// open gives a model that talks to a scripted server and does not wait long.
func open(t *testing.T, s script, edit ...func(*gemini.Options)) (*gemini.Model, *geminitest.Server) {
	t.Helper()
	srv := geminitest.Serve(t, s)
	o := gemini.Options{
		BaseURL: srv.URL, Key: s.Key, Model: "gemini-3-scripted", KeyName: "GEMINI_API_KEY",
		Retry: api.Retry{First: time.Millisecond, Budget: 100 * time.Millisecond},
	}
	for _, e := range edit {
		e(&o)
	}
	m, err := gemini.Open(t.Context(), o)
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
		case model.Sealed:
			fmt.Fprintf(&b, "<%s>", e.JSON)
		case model.Usage:
			fmt.Fprintf(&b, "\nusage %d %d %d %d", e.Input, e.Output, e.CacheRead, e.Reasoning)
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
			{ID: "c0", Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}`), Signature: "c2ln"},
			{ID: "c1", Name: "write_file", Args: json.RawMessage(`{"content":"日本 🎉\n"}`)},
		},
		Usage: geminitest.Usage{Input: 10, Output: 5, Cached: 4, Thoughts: 3},
	}
	want := "Grüße, 世界 😀" +
		"\nc0 read_file " + `{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}<{"id":"c0","thoughtSignature":"c2ln"}>` +
		"\nc1 write_file " + `{"content":"日本 🎉\n"}<{"id":"c1"}>` +
		"\nusage 10 8 4 3\nend calls"
	for name, f := range map[string]faults{
		"an event for each part":     {},
		"one character in each text": {Split: 1},
		"one event":                  {Together: true},
		"one byte in each write":     {Chunk: 1},
		"three bytes in each write":  {Chunk: 3, LF: true},
		"comments":                   {Comments: true, Split: 2},
		"a list":                     {Plain: true, Split: 3},
		"[DONE] at the end":          {Done: true},
	} {
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

// event returns the event of one candidate.
func event(candidate string) string { return `data: {"candidates":[` + candidate + "]}\r\n\r\n" }

// parts returns an event with parts, and the last one if it has a reason.
func parts(list, reason string) string {
	if reason != "" {
		reason = `,"finishReason":"` + reason + `"`
	}
	return event(`{"content":{"parts":[` + list + `],"role":"model"}` + reason + `,"index":0}`)
}

func TestDecode(t *testing.T) {
	const stop = `{"text":"."}`
	tests := []struct {
		name string
		a    answer
		want string
	}{
		{"text", answer{Text: "a"}, "a\nusage 0 0 0 0\nend stop"},
		{"length", answer{Text: "a", Finish: "MAX_TOKENS"}, "a\nusage 0 0 0 0\nend length"},
		{"length with nothing said", answer{Finish: "MAX_TOKENS"}, "\nusage 0 0 0 0\nend length"},
		{"safety", answer{Text: "a", Finish: "SAFETY"}, "a\nusage 0 0 0 0\nend filter"},
		{"recitation", answer{Text: "a", Finish: "RECITATION"}, "a\nusage 0 0 0 0\nend filter"},
		{"a reason of its own", answer{Text: "a", Finish: "OTHER"}, "a\nusage 0 0 0 0\nend OTHER"},
		{"a call without id and signature", answer{Calls: []call{{Name: "f"}, {Name: "g"}}}, "\n f {}<{}>\n g {}\nusage 0 0 0 0\nend calls"},
		{"a gateway's word for calls", answer{Calls: []call{{Name: "f"}}, Finish: "FUNCTION_CALL"}, "\n f {}<{}>\nusage 0 0 0 0\nend calls"},
		{"small letters", answer{Text: "a", Finish: "max_tokens"}, "a\nusage 0 0 0 0\nend length"},
		{"a call with null arguments", answer{Raw: parts(`{"functionCall":{"name":"f","args":null}}`, "STOP")}, "\n f {}<{}>\nend calls"},
		{"thought", answer{Thought: "hm", Text: "a", Usage: geminitest.Usage{Thoughts: 2, Output: 1}}, "(hm)a\nusage 0 3 0 2\nend stop"},
		{"a signature in an empty text", answer{Text: "a", Signature: "c2ln"}, `a<{"part":{"text":"","thoughtSignature":"c2ln"}}>` + "\nusage 0 0 0 0\nend stop"},
		{"a signature in the last text", answer{Text: "ab", Signature: "c2ln", Faults: faults{SignText: true, Split: 1}}, `a<{}>b<{"thoughtSignature":"c2ln"}>` + "\nusage 0 0 0 0\nend stop"},
		{"a signature in the only text", answer{Text: "ab", Signature: "c2ln", Faults: faults{SignText: true}}, `ab<{"thoughtSignature":"c2ln"}>` + "\nusage 0 0 0 0\nend stop"},
		{"a signature alone", answer{Raw: parts(`{"thoughtSignature":"c2ln"}`, "STOP")}, `<{"part":{"text":"","thoughtSignature":"c2ln"}}>` + "\nend stop"},
		{"a signature in a thought", answer{Raw: parts(`{"text":"hm","thought":true,"thoughtSignature":"c2\u006cn"}`, "") + parts(stop, "STOP")}, `(hm)<{"part":{"text":"hm","thought":true,"thoughtSignature":"c2\u006cn"}}>.` + "\nend stop"},
		{"an empty signature", answer{Raw: parts(`{"text":"a","thoughtSignature":""}`, "STOP")}, "a\nend stop"},
		{"a part that is not known", answer{Raw: parts(`{"executableCode":{"language":"PYTHON","code":"1"}}`, "") + parts(stop, "STOP")}, `<{"part":{"executableCode":{"language":"PYTHON","code":"1"}}}>.` + "\nend stop"},
		{"fields that are not known", answer{Raw: event(`{"content":{"parts":[{"text":"a","partMetadata":{}}]},"finishReason":"STOP","avgLogprobs":-1,"tokens":[1]}`)}, "a\nend stop"},
		{"events without candidates", answer{Raw: `data: {"responseId":"x"}` + "\n\n" + parts(`{"text":"a"}`, "STOP") + "data: {}\n\n"}, "a\nend stop"},
		{"a candidate without content", answer{Raw: parts(`{"text":"a"}`, "") + event(`{"finishReason":"STOP"}`)}, "a\nend stop"},
		{"another candidate", answer{Raw: event(`{"index":1,"content":{"parts":[{"text":"x"}]},"finishReason":"SAFETY"}`) + parts(`{"text":"a"}`, "STOP")}, "a\nend stop"},
		{"a reason in each event", answer{Raw: parts(`{"text":"a"}`, "STOP") + parts(`{"text":"b"}`, "STOP")}, "ab\nend stop"},
		{"a reason that is not one", answer{Raw: parts(`{"text":"a"}`, "FINISH_REASON_UNSPECIFIED") + parts(`{"text":"b"}`, "STOP")}, "ab\nend stop"},
		{"one line end between events", answer{Raw: `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}` + "\n" + `data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}` + "\ndata: [DONE]\n"}, "ab\nend stop"},
		{"a character in two events", answer{Raw: parts(`{"text":"a\ud83d"}`, "") + parts(`{"text":"\ude00"}`, "STOP")}, "a😀\nend stop"},
		{"half a character at the end", answer{Raw: parts(`{"text":"a\ud83d"}`, "STOP")}, "a\ufffd\nend stop"},
		{"the same call twice", answer{Raw: parts(`{"functionCall":{"id":"x","name":"f","args":{"a":1}}}`, "") + parts(`{"functionCall":{"id":"x","name":"f","args":{"a":1}}}`, "STOP")}, "\nx f {\"a\":1}<{\"id\":\"x\"}>\nend calls"},
		{"two calls with one id", answer{Raw: parts(`{"functionCall":{"id":"x","name":"f","args":{"a":1}}},{"functionCall":{"id":"x","name":"f","args":{"a":2}}}`, "STOP")}, "\nx f {\"a\":1}<{\"id\":\"x\"}>\nx f {\"a\":2}<{\"id\":\"x\"}>\nend calls"},
		{"usage that is not understood", answer{Raw: parts(`{"text":"a"}`, "STOP") + `data: {"usageMetadata":{"promptTokenCount":"many"}}` + "\n\n"}, "a\nend stop"},
		{"usage after the reason", answer{Raw: parts(`{"text":"a"}`, "STOP") + `data: {"usageMetadata":{"promptTokenCount":3,"cachedContentTokenCount":2}}` + "\n\n" + `data: {"usageMetadata":{"candidatesTokenCount":4,"toolUsePromptTokenCount":1}}` + "\n\n"}, "a\nusage 4 4 2 0\nend stop"},
		{"one object", answer{Raw: `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`}, "a\nend stop"},
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

// Wherever the connection breaks, no call is emitted that didn't arrive whole, and the error says so. Before the first
// event the request is sent again.
func TestCutAtEveryByte(t *testing.T) {
	a := answer{Text: "ab", Calls: []call{{Name: "f", Args: json.RawMessage(`{"p":"ü"}`), Signature: "c2ln"}, {Name: "g"}}, Faults: faults{Split: 1}}
	const called = "ab\n f {\"p\":\"ü\"}<{\"thoughtSignature\":\"c2ln\"}>"
	const whole = called + "\n g {}\nusage 0 0 0 0\nend calls"
	seen := map[string]int{}
	for at := 1; seen[whole] == 0; at++ {
		a.Faults.Cut = at
		m, srv := open(t, script{Answers: []answer{a, {Text: "again"}}})
		got, err := play(t.Context(), m, request("hi"))
		requests := len(srv.Requests())
		switch {
		case err == nil && got == whole, errors.Is(err, model.ErrCut) && (got == "a" || got == "ab" || got == called):
			if requests != 1 {
				t.Fatalf("cut at %d: %d requests", at, requests)
			}
			_, _ = play(t.Context(), m, request("hi")) // the script wants to be played to its end
		case err == nil && got == "retry 1\nagain\nusage 0 0 0 0\nend stop":
		default:
			t.Fatalf("cut at %d: %q, %v", at, got, err)
		}
		seen[got]++
	}
	if len(seen) != 5 {
		t.Errorf("not all pieces were seen: %v", seen)
	}
}

func TestOpen(t *testing.T) {
	srv := geminitest.Serve(t, script{Models: []string{"gemini-x", "other"}, Key: "k"})
	empty := geminitest.Serve(t, script{Models: []string{}})
	for _, tt := range []struct {
		name string
		o    gemini.Options
		want string // the model's name, or the error
	}{
		{"the first one listed", gemini.Options{BaseURL: srv.URL, Key: "k"}, "gemini-x"},
		{"with the version", gemini.Options{BaseURL: srv.URL + "/v1beta/", Key: "k"}, "gemini-x"},
		{"no model and no base URL", gemini.Options{}, "no model name set for https://generativelanguage.googleapis.com\nSet GEMINI_MODEL."},
		{"none listed", gemini.Options{BaseURL: empty.URL}, empty.URL + " lists no models\nLoad a model in the server, or set GEMINI_MODEL."},
	} {
		m, err := gemini.Open(t.Context(), tt.o)
		got := fmt.Sprint(err)
		if err == nil {
			got = m.Name()
			m.Close()
		}
		if got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestPath(t *testing.T) {
	for name, want := range map[string]string{
		"gemini-3":          "/v1beta/models/gemini-3:streamGenerateContent",
		"models/gemini-3":   "/v1beta/models/gemini-3:streamGenerateContent",
		"tunedModels/my-1":  "/v1beta/tunedModels/my-1:streamGenerateContent",
		"google/gemini-3:x": "/v1beta/models/google/gemini-3:x:streamGenerateContent",
	} {
		m, srv := open(t, script{Key: "sesame", Answers: []answer{{Text: "a"}}}, func(o *gemini.Options) { o.Model = name })
		if _, err := play(t.Context(), m, request("hi")); err != nil {
			t.Error(err)
		}
		r := srv.Requests()[0]
		if r.Path != want || r.Header.Get("X-Goog-Api-Key") != "sesame" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: %s %v", name, r.Path, r.Header)
		}
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
