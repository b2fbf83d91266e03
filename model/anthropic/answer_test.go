package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/anthropic/anthropictest"
	"github.com/adze-dev/adze/model/modeltest"
)

// whole is an answer with all kinds of content, and the expected events.
var whole = answer{
	Thought: "Grüße, 世界 😀", Signature: "EqQB/+=", Redacted: "b64==", Text: "Ü 🎉 \\ \"",
	Calls: []call{
		{ID: "toolu_1", Name: "read_file", Args: json.RawMessage(`{"path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}`)},
		{ID: "toolu_2", Name: "write_file", Args: json.RawMessage(`{"content":"日本 🎉\n"}`)},
	},
	Usage: anthropictest.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 3},
}

const wholeSaid = "(Grüße, 世界 😀)\nsealed anthropic claude-x " + `{"signature":"EqQB/+=","thinking":"Grüße, 世界 😀","type":"thinking"}` +
	"\n\nsealed anthropic claude-x " + `{"type":"redacted_thinking","data":"b64=="}` + "\n" + `Ü 🎉 \ "` +
	"\ntoolu_1 read_file " + `{"path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}` + "\ntoolu_2 write_file " + `{"content":"日本 🎉\n"}` +
	"\nusage 17 5 4 3 0\nend calls"

// joined returns an answer's text with its thoughts in one piece.
func joined(s string) string { return strings.ReplaceAll(s, ")(", "") }

// The same answer must come out however a server sends it.
func TestAnswerInEveryStyle(t *testing.T) {
	for name, f := range map[string]faults{
		"at once":           {},
		"one character":     {Split: 1},
		"seven characters":  {Split: 7},
		"one byte a write":  {Split: 2, Chunk: 1},
		"CRLF and comments": {CRLF: true, Comments: true, Split: 3},
		"slow":              {Pause: modeltest.Duration(time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			a := whole
			a.Faults = f
			m, _ := open(t, script{Answers: []answer{a}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(wholeSaid, joined(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// events writes a stream.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, d)
	}
	return b.String()
}

func begin(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}
func piece(i int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
}
func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }
func ends(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null,"stop_details":null},"usage":{"output_tokens":7}}`
}

const (
	starts  = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`
	over    = `{"type":"message_stop"}`
	ping    = `{"type": "ping"}`
	useF    = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	noText  = `{"type":"text","text":""}`
	noThink = `{"type":"thinking","thinking":"","signature":""}`
)

func text(s string) string { return `{"type":"text_delta","text":"` + s + `"}` }
func args(s string) string { return `{"type":"input_json_delta","partial_json":"` + s + `"}` }

func TestStreams(t *testing.T) {
	const used = "\nusage 5 7 0 0 0"
	for _, tt := range []struct {
		name   string
		events []string
		want   string
	}{
		{"text", []string{starts, ping, begin(0, noText), piece(0, text("a")), ping, piece(0, text("b")), stop(0), ends("end_turn"), over}, "ab" + used + "\nend stop"},
		{"a stop sequence", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("stop_sequence"), over}, "a" + used + "\nend stop"},
		{"a refusal", []string{starts, begin(0, noText), piece(0, text("I ca")), stop(0), ends("refusal"), over}, "I ca" + used + "\nend filter"},
		{"a full window", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("model_context_window_exceeded"), over}, "a" + used + "\nend length"},
		{"another reason", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("pause_turn"), over}, "a" + used + "\nend pause_turn"},
		{"no message_stop", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("end_turn")}, "a" + used + "\nend stop"},
		{"no stop_reason", []string{begin(0, noText), piece(0, text("a")), stop(0), over}, "a\nend stop"},
		{"no content", []string{starts, ends("end_turn"), over}, used + "\nend stop"},
		{"text that begins at once", []string{starts, begin(0, `{"type":"text","text":"a"}`), piece(0, text("b")), stop(0), ends("end_turn"), over}, "ab" + used + "\nend stop"},
		{"blocks without begin and end", []string{starts, piece(0, `{"type":"thinking_delta","thinking":"t"}`), piece(1, text("a")), ends("end_turn"), over},
			"(t)a\nsealed anthropic claude-x " + `{"signature":"","thinking":"t","type":"thinking"}` + "\n" + used + "\nend stop"},
		{"unknown events, blocks and deltas", []string{starts, `{"type":"news","index":3,"delta":"x"}`, begin(0, `{"type":"server_tool_use","id":"x","name":"web_search","input":{}}`), piece(0, args("{}")), stop(0),
			begin(1, noText), piece(1, `{"type":"citations_delta","citation":{}}`), piece(1, text("a")), piece(1, `{"type":"new_delta","text":"x"}`), stop(1), stop(7), ends("end_turn"), over}, "a" + used + "\nend stop"},
		{"characters cut in two", []string{starts, begin(0, noText), piece(0, text(`\ud83d`)), piece(0, text(`\ude00`)), stop(0),
			begin(1, useF), piece(1, args("")), piece(1, args(`{\"p\":\"\ud83d`)), piece(1, args(`\ude00\"}`)), stop(1), ends("tool_use"), over}, "😀\na f {\"p\":\"😀\"}" + used + "\nend calls"},
		{"no arguments", []string{starts, begin(0, useF), piece(0, args("")), stop(0), ends("tool_use"), over}, "\na f {}" + used + "\nend calls"},
		{"arguments at the beginning", []string{starts, begin(0, `{"type":"tool_use","id":"a","name":"f","input":{"b": 1}}`), stop(0), ends("end_turn"), over}, "\na f {\"b\": 1}" + used + "\nend calls"},
		{"tool_use without a call", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("tool_use"), over}, "a" + used + "\nend stop"},
		{"interleaved calls", []string{starts, begin(0, useF), begin(1, `{"type":"tool_use","id":"b","name":"g","input":{}}`), piece(1, args(`{}`)), piece(0, args(`{\"x\":1}`)), stop(1), stop(0), ends("tool_use"), over},
			"\nb g {}\na f {\"x\":1}" + used + "\nend calls"},
		{"ids that are missing, repeated or numbers", []string{starts, begin(0, `{"type":"tool_use","name":"f","input":{}}`), stop(0), begin(1, useF), stop(1), begin(2, useF), piece(2, args(`{\"x\":1}`)), stop(2),
			begin(3, `{"type":"tool_use","id":7,"name":"f","input":{}}`), stop(3), ends("tool_use"), over}, "\n f {}\na f {}\na f {\"x\":1}\n7 f {}" + used + "\nend calls"},
		{"arguments that are not JSON", []string{starts, begin(0, useF), piece(0, args(`{x`)), stop(0), begin(1, noText), piece(1, text("b")), stop(1), ends("tool_use"), over}, "\na f {xb" + used + "\nend calls"},
		{"truncated arguments", []string{starts, begin(0, useF), piece(0, args(`{\"p\":`)), stop(0), ends("max_tokens"), over}, "\na f {\"p\":" + used + "\nend length"},
		{"truncated thinking", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), begin(1, noThink), piece(1, `{"type":"thinking_delta","thinking":"t"}`), stop(1), ends("max_tokens"), over},
			"a(t)" + used + "\nend length"},
		{"a signature in pieces", []string{starts, begin(0, noThink), piece(0, `{"type":"signature_delta","signature":"ab"}`), piece(0, `{"type":"signature_delta","signature":"cd"}`), stop(0),
			begin(1, noText), piece(1, text("a")), stop(1), ends("end_turn"), over},
			"\nsealed anthropic claude-x " + `{"signature":"abcd","thinking":"","type":"thinking"}` + "\na" + used + "\nend stop"},
		{"thinking with other members", []string{starts, begin(0, `{"type":"thinking","thinking":"","signature":"","new":[1]}`), piece(0, `{"type":"thinking_delta","thinking":"t","estimated_tokens":9}`),
			piece(0, `{"type":"signature_delta","signature":"s"}`), stop(0), begin(1, noText), piece(1, text("a")), stop(1), ends("end_turn"), over},
			"(t)\nsealed anthropic claude-x " + `{"new":[1],"signature":"s","thinking":"t","type":"thinking"}` + "\na" + used + "\nend stop"},
		{"usage of the end", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":6,` +
			`"cache_creation_input_tokens":null,"cache_read_input_tokens":2,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}`, over}, "a\nusage 8 9 2 0 4\nend stop"},
		{"[DONE]", []string{starts, begin(0, noText), piece(0, text("a")), stop(0), ends("end_turn"), "[DONE]"}, "a" + used + "\nend stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{{Raw: events(tt.events...)}}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// An answer in one object.
func TestBody(t *testing.T) {
	m, _ := open(t, script{Answers: []answer{{Status: 200, Raw: `{"type":"message","content":[{"type":"thinking", "thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"d"},` +
		`{"type":"text","text":"a"},{"type":"tool_use","id":"b","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`}}})
	got, err := play(t.Context(), m, request("hi"))
	want := "(t)\nsealed anthropic claude-x " + `{"type":"thinking", "thinking":"t","signature":"s"}` + "\n\nsealed anthropic claude-x " + `{"type":"redacted_thinking","data":"d"}` +
		"\na\nb f {\"x\":1}\nusage 1 2 0 0 0\nend calls"
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for body, kind := range map[string]model.Kind{
		`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`: model.ErrRejected,
		`{"type":"message"}`: model.ErrWire,
	} {
		m, _ := open(t, script{Answers: []answer{{Status: 200, Raw: body}}})
		if got, err := play(t.Context(), m, request("hi")); !errors.Is(err, kind) || got != "" {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

// A stream that ends or breaks at any byte is an error, and never a shorter answer: the events before it are the beginning
// of the whole answer, and each call in it is complete.
func TestCutAtEveryByte(t *testing.T) {
	serial.Test(t)
	whole := stream(t, whole)
	var at int
	var abort bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, whole[:at])
		if abort {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	m := connect(t, srv.URL, func(o *anthropic.Options) { o.Retry.Times = -1 })
	for at = 1; at < len(whole); at++ {
		for _, abort = range []bool{false, true} {
			got, err := play(t.Context(), m, request("hi"))
			switch {
			case err == nil && got == wholeSaid: // only message_stop was missing
			case !errors.Is(err, model.ErrCut):
				t.Fatalf("cut at %d: %v after %q", at, err, got)
			case !strings.HasPrefix(wholeSaid, got):
				t.Fatalf("cut at %d: %q is not the beginning of %q", at, got, wholeSaid)
			}
		}
	}
}

// stream returns an answer as the server sends it.
func stream(t *testing.T, a answer) string {
	t.Helper()
	srv := anthropictest.Serve(t, script{Answers: []answer{a}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/messages",
		strings.NewReader(`{"model":"claude-x","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// Arguments come out whole wherever they are split.
func TestArgumentsSplitAtEveryByte(t *testing.T) {
	const quoted = `{\"p\":\"/tmp/\u00fc\\\"}{ \ud83d\ude00 世\",\"n\":[1,{}]}`
	const want = "\na f {\"p\":\"/tmp/ü\\\"}{ 😀 世\",\"n\":[1,{}]}\nusage 5 7 0 0 0\nend calls"
	var raw string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, raw) }))
	defer srv.Close()
	m := connect(t, srv.URL)
	for at := range len(quoted) + 1 {
		first, second := quoted[:at], quoted[at:]
		if !json.Valid([]byte(`"` + first + `"`)) { // inside an escape
			continue
		}
		raw = events(starts, begin(0, useF), piece(0, args("")), piece(0, args(first)), piece(0, args(second)), stop(0), ends("tool_use"), over)
		if got, err := play(t.Context(), m, request("hi")); err != nil || got != want {
			t.Fatalf("split at %d: %v, %s", at, err, got)
		}
	}
}
