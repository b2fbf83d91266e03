package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/responses"
	"github.com/adze-dev/adze/model/responses/responsestest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	script = responsestest.Script
	answer = responsestest.Answer
	faults = responsestest.Faults
	call   = responsestest.Call
)

const key = "sk-secret-key"

// open gives a model that talks to a scripted server and does not wait long.
func open(t *testing.T, s script) (*responses.Model, *responsestest.Server) {
	t.Helper()
	s.Key = key
	srv := responsestest.Serve(t, s)
	return connect(t, srv.URL), srv
}

func connect(t *testing.T, url string) *responses.Model {
	t.Helper()
	m, err := responses.Open(t.Context(), responses.Options{
		BaseURL: url, Model: "gpt-5.5", Key: key, KeyName: "OPENAI_API_KEY",
		Retry: api.Retry{First: time.Millisecond, Budget: 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// play ranges over an answer: text and thoughts joined, everything else one line each.
func play(ctx context.Context, m model.Model, r model.Request) (string, error) {
	var b strings.Builder
	last := ""
	join := func(kind, s string) {
		if last != kind {
			b.WriteString("\n" + kind + " ")
		}
		b.WriteString(s)
		last = kind
	}
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			return strings.TrimPrefix(b.String(), "\n"), err
		}
		switch e := e.(type) {
		case model.Text:
			join("text", string(e))
			continue
		case model.Thought:
			join("thought", string(e))
			continue
		case model.Call:
			fmt.Fprintf(&b, "\n%s %s %s", e.ID, e.Name, e.Args)
		case model.Sealed:
			fmt.Fprintf(&b, "\nsealed %s", e.JSON)
		case model.Usage:
			fmt.Fprintf(&b, "\nusage %d %d %d %d", e.Input, e.Output, e.CacheRead, e.Reasoning)
		case model.Retry:
			fmt.Fprintf(&b, "\nretry %v", e.Err)
		case model.End:
			fmt.Fprintf(&b, "\nend %s", e.Reason)
		}
		last = ""
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}

func request(text string) model.Request {
	return model.Request{Messages: []model.Message{model.Prompt(text)}}
}

// frames are events as a server sends them.
func frames(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const completed = `{"type":"response.completed","response":{"status":"completed","output":[]}}`

// The same answer must come out however its events are cut.
func TestAnswerInEveryPiece(t *testing.T) {
	a := answer{
		Thought: "Grüße 😀", Encrypted: "gAAA", Text: "Grüße, 世界 😀", Phase: "commentary",
		Calls: []call{
			{ID: "call_0", Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}`)},
			{ID: "call_1", Name: "write_file", Args: json.RawMessage(`{"content":"日本 🎉\n"}`)},
		},
		Usage: responsestest.Usage{Input: 10, Output: 5, Cached: 4, Reasoning: 3},
	}
	want := "thought Grüße 😀" +
		"\n" + `sealed {"encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"Grüße 😀"}],"type":"reasoning"}` +
		"\ntext Grüße, 世界 😀" +
		"\n" + `sealed {"type":"message","phase":"commentary"}` +
		"\ncall_0 read_file " + `{"absolute_path":"/tmp/ü\"}{","n":[1,{"a":"\\"}]}` +
		"\ncall_1 write_file " + `{"content":"日本 🎉\n"}` +
		"\nusage 10 5 4 3\nend calls"
	for name, f := range map[string]faults{
		"at once":              {},
		"one character":        {Split: 1},
		"seven characters":     {Split: 7},
		"one byte of the wire": {Split: 3, Chunk: 1},
		"CRLF and comments":    {CRLF: true, Comments: true, Split: 2},
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

// Arguments arrive whole wherever they are cut, also inside a character and inside an escape.
func TestArgumentsSplitAtEveryByte(t *testing.T) {
	args := `{"p":"ü\"\\😀","q":[1,{"a":"}"}]}`
	quoted := func(s string) string { // as servers that cut inside characters send it
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	var answers []answer
	for at := range len(args) {
		// Nothing but the deltas has the arguments.
		answers = append(answers, answer{Raw: frames(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":`+quoted(args[:at])+`}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":`+quoted(args[at:])+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f"}}`, completed)})
	}
	m, _ := open(t, script{Answers: answers})
	for at := range answers {
		got, err := play(t.Context(), m, request("hi"))
		if want := "c f " + args + "\nend calls"; got != want || err != nil {
			t.Errorf("at %d: %v\n%s\nwant %s", at, err, got, want)
		}
	}
}

// Servers omit events, send others, and send some twice. No call comes twice.
func TestEvents(t *testing.T) {
	const (
		added  = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":""}}`
		delta  = `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{}"}`
		whole  = `{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{}"}`
		item   = `{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"}`
		done   = `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
		output = `{"type":"response.completed","response":{"status":"completed","output":[` + item + `]}}`
		text   = `{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"a"}`
		hello  = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"ab"}]}`
	)
	const once = "c f {}\nend calls"
	for name, c := range map[string]struct{ raw, want string }{
		"a call":                          {frames(added, delta, whole, done, output), once},
		"done and said twice":             {frames(added, added, delta, done, done, output), once},
		"only at the end":                 {frames(output), once},
		"only done":                       {frames(done, completed), once},
		"never done":                      {frames(added, delta, completed), once},
		"never done, whole at the end":    {frames(added, delta, output), once},
		"other IDs in each event":         {frames(added, strings.ReplaceAll(whole, "fc_1", "x"), strings.ReplaceAll(done, "fc_1", "y"), strings.ReplaceAll(output, "fc_1", "z")), once},
		"no index":                        {strings.ReplaceAll(frames(added, delta, whole, done, output), `"output_index":0,`, ""), once},
		"no index, other ID at the end":   {strings.ReplaceAll(frames(added, done), `"output_index":0,`, "") + frames(strings.ReplaceAll(output, "fc_1", "z")), once},
		"done without name and call_id":   {frames(added, delta, strings.NewReplacer(`"call_id":"c",`, "", `"name":"f",`, "").Replace(done), completed), once},
		"a text with no index, again":     {strings.ReplaceAll(frames(text), `"output_index":0,`, "") + frames(`{"type":"response.completed","response":{"status":"completed","output":[`+strings.ReplaceAll(hello, `"m"`, `"n"`)+`]}}`), "text a\nend stop"},
		"reasoning with no index, again":  {frames(`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs","status":"completed","summary":[],"encrypted_content":"g"}}`, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs2","summary":[],"encrypted_content":"h"}]}}`), `sealed {"encrypted_content":"g","summary":[],"type":"reasoning"}` + "\nend stop"},
		"no call_id":                      {strings.ReplaceAll(frames(added, delta, done, output), `"call_id":"c",`, ""), "fc_1 f {}\nend calls"},
		"arguments as an object":          {frames(strings.ReplaceAll(done, `"{}"`, `{"a":1}`), completed), "c f {\"a\":1}\nend calls"},
		"no arguments":                    {frames(strings.ReplaceAll(done, `"{}"`, `""`), completed), once},
		"index 0 for all":                 {frames(done, strings.ReplaceAll(done, `"c"`, `"d"`), completed), "c f {}\nd f {}\nend calls"},
		"the same call_id in two items":   {frames(done, strings.ReplaceAll(done, `index":0`, `index":1`), completed), "c f {}\nc f {}\nend calls"},
		"unknown events, items and pings": {": ping\n\n" + frames(`{"type":"response.new","a":[]}`, `{"type":"keepalive"}`, `{}`, `{"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"ws"}}`, done, completed), once},
		"a custom tool":                   {frames(`{"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","id":"x","call_id":"c","name":"patch","input":"a\"b"}}`, completed), "c patch {\"input\":\"a\\\"b\"}\nend calls"},
		"a text":                          {frames(text, `{"type":"response.output_item.done","output_index":0,"item":`+hello+`}`, completed), "text ab\nend stop"},
		"a text without an item":          {frames(text, completed), "text a\nend stop"},
		"a text only at the end":          {frames(`{"type":"response.completed","response":{"status":"completed","output":[` + hello + `]}}`), "text ab\nend stop"},
		"half a character at the end":     {frames(`{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}`, completed), "text a\ufffd\nend stop"},
		"a pair of surrogates in two":     {frames(`{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"\ude00"}`, completed), "text a😀\nend stop"},
		"two messages":                    {frames(text, strings.ReplaceAll(text, `index":0`, `index":1`), completed), "text a\n\na\nend stop"},
		"a refusal":                       {frames(`{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"No."}]}}`, completed), "text No.\nend stop"},
		"two parts of a summary":          {frames(`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}`, completed), "thought a\n\nb\nend stop"},
		"reasoning that is shown":         {frames(`{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","status":null,"summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null}}`, completed), "thought hm\n" + `sealed {"content":[{"type":"reasoning_text","text":"hm"}],"summary":[],"type":"reasoning"}` + "\nend stop"},
		"reasoning that isn't streamed":   {frames(`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}`, completed), "thought hm\nend stop"},
		"no usage and no response":        {frames(text, `{"type":"response.completed"}`), "text a\nend stop"},
		"[DONE] after the end":            {frames(text, completed, "[DONE]"), "text a\nend stop"},
		"not streamed":                    {`{"object":"response","status":"completed","output":[{"type":"reasoning","summary":[],"encrypted_content":"g<"},` + hello + `,` + item + `],"usage":{"input_tokens":1,"output_tokens":2}}`, `sealed {"encrypted_content":"g<","summary":[],"type":"reasoning"}` + "\ntext ab\nc f {}\nusage 1 2 0 0\nend calls"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{{Raw: c.raw}}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// An incomplete answer says why. Only the last call of one that became too long may be truncated.
func TestIncomplete(t *testing.T) {
	const half = `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":","status":"incomplete"}}`
	const begun = `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}`
	const delta = `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":"}`
	const text = `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`
	end := func(reason string) string {
		return `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"},"output":[]}}`
	}
	for name, c := range map[string]struct{ raw, want string }{
		"text":                {frames(text, end("max_output_tokens")), "text a\nend length"},
		"a call":              {frames(text, half, end("max_output_tokens")), "text a\nc f {\"a\":\nend length"},
		"a call that is open": {frames(text, begun, delta, end("max_output_tokens")), "text a\nc f {\"a\":\nend length"},
		"filtered":            {frames(text, end("content_filter")), "text a\nend filter"},
		"a call, filtered":    {frames(text, half, end("content_filter")), "text a\nend filter"},
		"another reason":      {frames(text, end("tired")), "text a\nend tired"},
		"no reason":           {frames(text, `{"type":"response.incomplete","response":{"status":"incomplete"}}`), "text a\nend length"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{{Raw: c.raw}}})
			got, err := play(t.Context(), m, request("hi"))
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}
