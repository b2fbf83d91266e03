package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

// The whole request, to the byte.
func TestRequest(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{{Text: "a"}}})
	_, err := play(t.Context(), m, model.Request{
		System: "Be <brief>.", Messages: []model.Message{model.Prompt("hi")}, Effort: "low", CacheKey: "k", MaxTokens: 5000,
		Tools: []tool.Declaration{
			{Name: "clock", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "other", Origin: "mcp", Parameters: json.RawMessage(`{"$ref":"#/x","x":{"properties":{"a":{"type":"string"}}}}`)},
			{Name: "bare"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"claude-x","max_tokens":5000,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"},` +
		`"system":[{"type":"text","text":"Be <brief>."` + mark + `}],` +
		`"tools":[{"name":"clock","description":"Tells the time.","input_schema":{"type":"object","properties":{}}},` +
		`{"name":"other","input_schema":{"properties":{"a":{"type":"string"}},"type":"object"}},` +
		`{"name":"bare","input_schema":{"type":"object","properties":{}}` + mark + `}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"` + mark + `}]}]}`
	if d := cmp.Diff(want, srv.Requests()[0].Body); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A longer cache is requested with each mark.
func TestCacheTTL(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{{Text: "a"}}}, func(o *api.Options) { o.CacheTTL = "1h" })
	if _, err := play(t.Context(), m, model.Request{System: "s", Messages: []model.Message{model.Prompt("hi")}}); err != nil {
		t.Fatal(err)
	}
	body := srv.Requests()[0].Body
	if n := strings.Count(body, `"cache_control":{"type":"ephemeral","ttl":"1h"}`); n != 2 || strings.Contains(body, mark) {
		t.Errorf("%d marks in %s", n, body)
	}
}

func TestMessages(t *testing.T) {
	png := tool.Media{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}`
	pdf := tool.Media{MIMEType: "application/pdf", Data: []byte("%PDF-1.7")}
	document := `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="}`
	asks := model.Prompt("hi")
	askedMarked := `{"role":"user","content":[{"type":"text","text":"hi"` + mark + `}]}`
	called := func(id, name, args string) model.Call {
		return model.Call{Call: tool.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
	}
	assistant := func(parts ...model.Part) model.Message { return model.Message{Role: model.Assistant, Parts: parts} }
	answered := func(id string, isError bool, content ...tool.Part) model.Message {
		return model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: id, Name: "f", Content: content, IsError: isError}}}
	}
	big := tool.Media{MIMEType: "image/png", Data: append(bytes.Clone(png.Data), make([]byte, 4<<20)...)}
	tests := []struct {
		name string
		in   []model.Message
		want string // of the messages
	}{
		{"media of the user", []model.Message{{Role: model.User, Parts: []model.Part{model.Text("see"), model.Media{Media: png}, model.Media{Media: pdf}}}},
			`{"role":"user","content":[{"type":"text","text":"see"},` + image + `},` + document + mark + `}]}`},
		{"a wrong type", []model.Message{{Role: model.User, Parts: []model.Part{model.Media{Media: tool.Media{MIMEType: "image/jpeg", Data: png.Data}}}}},
			`{"role":"user","content":[` + image + mark + `}]}`},
		{"media that can't be sent", []model.Message{{Role: model.User, Parts: []model.Part{
			model.Media{Media: tool.Media{MIMEType: "audio/wav", Data: []byte("abc")}}, model.Media{Media: big}, model.Media{Media: tool.Media{MIMEType: "image/png"}}}}},
			`{"role":"user","content":[{"type":"text","text":"[audio/wav, 3 bytes: this model can't read it]"},` +
				`{"type":"text","text":"[image/png, 4194312 bytes: larger than the 5 MB that the server accepts]"},` +
				`{"type":"text","text":"[image/png, 0 bytes: this model can't read it]"` + mark + `}]}`},
		{"media in a result", []model.Message{asks, assistant(called("a", "f", `{}`)), answered("a", false, tool.Text("x"), png, pdf)},
			askedMarked + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},` + image + `},` + document + `}]` + mark + `}]}`},
		{"an error", []model.Message{asks, assistant(called("a", "f", `{}`)), answered("a", true, tool.Text("no"))},
			askedMarked + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"}],"is_error":true` + mark + `}]}`},
		{"an error with an image", []model.Message{asks, assistant(called("a", "f", `{}`)), answered("a", true, tool.Text("no"), png)},
			askedMarked + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"},` + image + `}]` + mark + `}]}`},
		{"an empty result", []model.Message{asks, assistant(called("a", "f", `{}`)), answered("a", false, tool.Text(""))},
			askedMarked + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"` + mark + `}]}`},
		{"a call of another server", []model.Message{asks, assistant(model.Thought("hm"), called("functions.f:0", "a.b", `{"a":1,}`), called("b", "f", `oops`)),
			{Role: model.Tool, Parts: []model.Part{model.Response{ID: "functions.f:0"}, model.Response{ID: "b"}}}},
			askedMarked + `,{"role":"assistant","content":[{"type":"tool_use","id":"call_ID","name":"a_b","input":{"a":1}},{"type":"tool_use","id":"b","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_ID"},{"type":"tool_result","tool_use_id":"b"` + mark + `}]}`},
		{"a prompt after results", []model.Message{asks, assistant(called("a", "f", `{}`)), answered("a", false, tool.Text("x")), model.Prompt("go on")},
			strings.Replace(askedMarked, mark, "", 1) + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]` + mark + `}]},` +
				`{"role":"user","content":[{"type":"text","text":"go on"` + mark + `}]}`},
		{"blank texts and empty messages", []model.Message{asks, assistant(model.Text("\n\n"), model.Thought("t")), assistant(), {Role: model.User}, assistant(model.Text(" "), model.Text("x"))},
			askedMarked + `,{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"sealed data of others", []model.Message{asks, assistant(
			model.Sealed{API: "gemini", Model: "claude-x", JSON: json.RawMessage(`{"a":1}`)}, model.Sealed{API: anthropic.Name, Model: "claude-y", JSON: json.RawMessage(`{"a":1}`)},
			model.Sealed{API: anthropic.Name, Model: "claude-x", JSON: json.RawMessage(`{"a`)}, model.Text("x"))},
			askedMarked + `,{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"sealed data to the byte", []model.Message{asks, assistant(
			model.Thought("hm"), model.Sealed{API: anthropic.Name, Model: "claude-x", JSON: json.RawMessage(`{ "type":"thinking", "thinking":"h\u006d <", "signature":"s\/" }`)}, model.Text("x"))},
			askedMarked + `,{"role":"assistant","content":[{ "type":"thinking", "thinking":"h\u006d <", "signature":"s\/" },{"type":"text","text":"x"}]}`},
		{"only thinking", []model.Message{asks, assistant(model.Sealed{API: anthropic.Name, Model: "claude-x", JSON: json.RawMessage(`{"type":"thinking"}`)}), asks},
			askedMarked + `,` + askedMarked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{{Text: "a", Thought: "hm <", Signature: "s/"}}})
			if _, err := play(t.Context(), m, model.Request{Messages: tt.in}); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(srv.Requests()[0].Body, `"messages":[`)
			want := strings.ReplaceAll(tt.want, "call_ID", api.ID("functions.f:0"))
			if d := cmp.Diff(want+`]}`, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Requests only grow: messages, tools and system prompt of one are the beginning of the next, except for marks.
func TestRequestsGrow(t *testing.T) {
	const n = 12
	answers := make([]answer, n)
	for i := range answers {
		answers[i] = answer{Thought: fmt.Sprint("t", i), Signature: fmt.Sprint("s", i), Calls: []call{{ID: fmt.Sprint("toolu_", i), Name: "f"}}}
	}
	m, srv := open(t, script{Bound: true, Answers: answers})
	r := model.Request{System: "s", Messages: []model.Message{model.Prompt("hi")}}
	for range n {
		_, said, err := converse(t.Context(), m, r)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, said, responses(said, tool.Text("x")), model.Prompt("note"))
	}
	before := ""
	for i, sent := range srv.Requests() {
		if marks := strings.Count(sent.Body, mark); marks > 4 || marks < 2 {
			t.Errorf("request %d has %d marks", i, marks)
		}
		body := strings.ReplaceAll(sent.Body, mark, "")
		if !strings.HasPrefix(body, before) {
			t.Errorf("request %d doesn't begin with the one before:\n%s\n%s", i, before, body)
		}
		before = strings.TrimSuffix(body, "]}")
	}
}

func TestSamplingAndExtra(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{{Text: "a"}}}, func(o *anthropic.Options) {
		o.Sampling = map[string]json.RawMessage{"top_k": json.RawMessage(`5`), "max_tokens": json.RawMessage(`9000`)}
		o.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"adaptive","display":"omitted"}`), "metadata": json.RawMessage(`{"user_id":"u"}`)}
	})
	if _, err := play(t.Context(), m, request("hi")); err != nil {
		t.Fatal(err)
	}
	got := members(t, srv.Requests()[0].Body)
	for name, want := range map[string]string{"top_k": "5", "max_tokens": "9000", "thinking": `{"display":"omitted","type":"adaptive"}`, "metadata": `{"user_id":"u"}`} {
		if string(got[name]) != want {
			t.Errorf("%s: %s", name, got[name])
		}
	}
}
