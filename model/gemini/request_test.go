package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

const name = "gemini-3-scripted"

func modelCall(id, name, args string) model.Call {
	return model.Call{Call: tool.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func sealed(data string) model.Sealed {
	return model.Sealed{API: gemini.Name, Model: name, JSON: json.RawMessage(data)}
}

func response(id, name string, content ...tool.Part) model.Response {
	return model.Response{ID: id, Name: name, Content: content}
}

// conversation returns a question, an answer with parts, and responses to its calls.
func conversation(answer []model.Part, responses ...model.Part) model.Request {
	r := request("hi")
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Parts: answer})
	if len(responses) > 0 {
		r.Messages = append(r.Messages, model.Message{Role: model.Tool, Parts: responses})
	}
	return r
}

// sent returns the body of the request.
func sent(t *testing.T, m *gemini.Model, last func() string, r model.Request) string {
	t.Helper()
	for _, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return last()
}

// encoding is a request and its body.
type encoding struct {
	name string
	r    model.Request
	edit func(*gemini.Options)
	want string
}

func (tt encoding) check(t *testing.T) {
	var edits []func(*gemini.Options)
	if tt.edit != nil {
		edits = append(edits, tt.edit)
	}
	// The raw answer has the IDs and signatures of the conversation, so that the server accepts them.
	raw := parts(`{"text":"."}`, "STOP") + `: "x1" "x2" c2ln ZW5k` + "\n\n"
	m, srv := open(t, script{Answers: []answer{{Raw: raw}}}, edits...)
	got := sent(t, m, func() string { return srv.Requests()[0].Body }, tt.r)
	if d := cmp.Diff(tt.want, got); d != "" {
		t.Error(d)
	}
}

const (
	prompt   = `{"role":"user","parts":[{"text":"hi"}]}`
	thoughts = `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`
)

var (
	png = tool.Media{MIMEType: "image/png", Data: []byte("png")}
	pdf = tool.Media{MIMEType: "application/pdf", Data: []byte("pdf")}
	gif = tool.Media{MIMEType: "image/gif", Data: []byte("gif")}
)

func TestEncode(t *testing.T) {
	for _, tt := range []encoding{
		{
			"everything",
			model.Request{
				System: "be <brief>", MaxTokens: 9, Effort: "low", CacheKey: "not sent",
				Messages: []model.Message{{Role: model.User, Parts: []model.Part{model.Text("a"), model.Media{Media: png}, model.Media{Media: gif}, model.Text("")}}},
				Tools: []tool.Declaration{
					{Name: "f", Description: "does f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)},
					{Name: "g"},
				},
			}, nil,
			`{"systemInstruction":{"parts":[{"text":"be <brief>"}]},"contents":[{"role":"user","parts":[{"text":"a"},` +
				`{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"[image/gif, 3 bytes: this model can't read it]"}]}],` +
				`"tools":[{"functionDeclarations":[{"name":"f","description":"does f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}},` +
				`{"name":"g","parametersJsonSchema":{"type":"object","properties":{}}}]}],` +
				`"generationConfig":{"maxOutputTokens":9,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`,
		},
		{
			"sampling and extra", request("hi"), func(o *gemini.Options) {
				o.Sampling = map[string]json.RawMessage{"top_p": json.RawMessage("0.5"), "max_tokens": json.RawMessage("7"), "temperature": json.RawMessage("0"), "stop": json.RawMessage(`["x"]`)}
				o.Extra = map[string]json.RawMessage{"safetySettings": json.RawMessage("[]")}
			},
			`{"contents":[` + prompt + `],"generationConfig":{"maxOutputTokens":7,"stopSequences":["x"],"temperature":0,"thinkingConfig":{"includeThoughts":true},"topP":0.5},"safetySettings":[]}`,
		},
		{
			"a budget for Gemini 2.5", model.Request{Effort: "high", Messages: request("hi").Messages}, func(o *gemini.Options) { o.Model = "gemini-2.5-pro" },
			`{"contents":[` + prompt + `],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}}`,
		},
		{
			"no images", model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{model.Media{Media: png}}}}}, func(o *gemini.Options) { o.Images = api.ImagesNoted },
			`{"contents":[{"role":"user","parts":[{"text":"[image/png, 3 bytes: this model can't read it]"}]}]` + thoughts,
		},
	} {
		t.Run(tt.name, tt.check)
	}
}

func TestEncodeHistory(t *testing.T) {
	for _, tt := range []encoding{
		{
			"calls of this model, with IDs and one signature",
			conversation([]model.Part{
				model.Thought("hm"), model.Text("I look."),
				modelCall("x1", "f", `{"a":1}`), sealed(`{"id":"x1","thoughtSignature":"c2ln"}`), modelCall("x2", "g", ``), sealed(`{"id":"x2"}`),
			}, response("x1", "f", tool.Text("one"), tool.Text("two")), model.Response{ID: "x2", Name: "g", Content: []tool.Part{tool.Text("bad")}, IsError: true}), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"x1","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x2","name":"g","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"x1","name":"f","response":{"output":"one\ntwo"}}},{"functionResponse":{"id":"x2","name":"g","response":{"error":"bad"}}}]}]` + thoughts,
		},
		{
			"calls of this model without IDs and signatures: those of the agent stay here",
			conversation([]model.Part{modelCall("call_1", "f", `{}`), sealed(`{}`), modelCall("call_2", "f", `{}`)}, response("call_1", "f"), response("call_2", "f")), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":""}}},{"functionResponse":{"name":"f","response":{"output":""}}}]}]` + thoughts,
		},
		{
			"an ID that the agent replaced",
			conversation([]model.Part{modelCall("x1", "f", `{"a":1}`), sealed(`{"id":"x1","thoughtSignature":"c2ln"}`), modelCall("x1-2", "f", `{"a":2}`), sealed(`{"id":"x1"}`)}, response("x1", "f"), response("x1-2", "f")), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"functionCall":{"id":"x1","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{"a":2}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"x1","name":"f","response":{"output":""}}},{"functionResponse":{"name":"f","response":{"output":""}}}]}]` + thoughts,
		},
		{
			"calls of another model",
			conversation([]model.Part{
				model.Text("a"), model.Sealed{API: "anthropic", Model: "claude", JSON: json.RawMessage(`{"type":"thinking"}`)},
				modelCall("toolu_1", "no such tool", `{"a":`), model.Sealed{API: gemini.Name, Model: "gemini-2.5-pro", JSON: json.RawMessage(`{"id":"toolu_1","thoughtSignature":"b3RoZXI="}`)}, modelCall("toolu_2", "f", `[]`),
			}, response("toolu_1", "no such tool"), response("toolu_2", "f")), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"no_such_tool","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"f","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"no_such_tool","response":{"output":""}}},{"functionResponse":{"name":"f","response":{"output":""}}}]}]` + thoughts,
		},
		{
			"signatures of texts",
			func() model.Request {
				r := conversation([]model.Part{model.Text("a"), sealed(`{}`), model.Text("b"), sealed(`{"thoughtSignature":"c2ln"}`), sealed(`{"part":{"text":"","thoughtSignature":"ZW5k"}}`)})
				r.Messages = append(r.Messages, model.Prompt("go"))
				return r
			}(), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"text":"a"},{"text":"b","thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"ZW5k"}]},{"role":"user","parts":[{"text":"go"}]}]` + thoughts,
		},
		{
			"an answer with nothing in it",
			func() model.Request {
				r := conversation([]model.Part{model.Thought("hm"), model.Text("")})
				r.Messages = append(r.Messages, model.Prompt("go"))
				return r
			}(), nil,
			`{"contents":[` + prompt + `,{"role":"user","parts":[{"text":"go"}]}]` + thoughts,
		},
		{
			"media in a response",
			conversation([]model.Part{modelCall("x1", "f", `{}`), sealed(`{}`)}, response("x1", "f", tool.Text("see"), png, pdf, gif)), nil,
			`{"contents":[` + prompt + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"see\n[image/gif, 3 bytes: this model can't read it]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}]}}]}]` + thoughts,
		},
	} {
		t.Run(tt.name, tt.check)
	}
}

// A conversation that grows sends the bytes of the request before.
func TestRequestsOnlyGrow(t *testing.T) {
	r := conversation([]model.Part{modelCall("x1", "f", `{}`), sealed(`{}`)}, response("x1", "f"))
	m, srv := open(t, script{Repeat: true, Answers: []answer{{Text: "."}}})
	contents := func() []byte {
		body := sent(t, m, func() string { all := srv.Requests(); return all[len(all)-1].Body }, r)
		var out struct{ Contents json.RawMessage }
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		return bytes.TrimSuffix(out.Contents, []byte("]"))
	}
	before := contents()
	for _, more := range []model.Message{
		model.Prompt("a"), {Role: model.Assistant, Parts: []model.Part{model.Text("b")}}, model.Prompt("c"), model.Prompt("d"),
	} {
		r.Messages = append(r.Messages, more)
		if more.Role == model.Assistant {
			continue
		}
		now := contents()
		if !bytes.HasPrefix(now, before) {
			t.Errorf("%s\ndoesn't begin with\n%s", now, before)
		}
		before = now
	}
}

// Where a server rejects something that it need not get, the request is changed once, and the change is remembered.
func TestLearns(t *testing.T) {
	rejected := func(message string) answer {
		return answer{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", message)}
	}
	image := conversation([]model.Part{modelCall("x1", "f", `{}`), sealed(`{}`)}, response("x1", "f", tool.Media{MIMEType: "image/png", Data: []byte("png")}))
	foreign := conversation([]model.Part{modelCall("x1", "f", `{}`)}, response("x1", "f"))
	tools := request("hi")
	tools.Tools = []tool.Declaration{
		{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","y"],"default":"x"},"b":{"type":"array"},"e":{"type":"boolean","enum":["True","False"]},"c":{"anyOf":[{"const":1},{"type":"object","additionalProperties":false,"properties":{"d":{"type":"integer","exclusiveMinimum":0}}}]}},"required":["a"],"additionalProperties":false}`)},
		{Name: "g"},
	}
	effort := request("hi")
	effort.Effort = "low"
	beside := `{"functionResponse":{"name":"f","response":{"output":"[image/png: after the results]"}}},{"text":"From f:"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]`
	for _, tt := range []struct {
		name, message  string
		r              model.Request
		before, learnt string // in the first request, and in those after it
	}{
		{"media beside", "Unable to submit request because `function_response.parts` is not supported for this model.", image, `"parts":[{"inlineData"`, beside},
		{"media beside: an unknown field", `Invalid JSON payload received. Unknown name "parts" at 'contents[2].parts[0].function_response': Cannot find field.`, image, `"parts":[{"inlineData"`, beside},
		{"a budget", "Thinking level is not supported for this model.", effort, `"thinkingLevel":"LOW"`, `"thinkingBudget":2048`},
		{"schemas of OpenAPI", `Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0].function_declarations[0]': Cannot find field.`, tools, `"parametersJsonSchema":{"type":"object"`,
			`[{"name":"f","parameters":{"properties":{"a":{"enum":["x","y"],"nullable":true,"type":"string"},"b":{"items":{"type":"string"},"type":"array"},"c":{"anyOf":[{"type":"string"},{"properties":{"d":{"type":"integer"}},"type":"object"}]},"e":{"type":"boolean"}},"required":["a"],"type":"object"}},{"name":"g"}]`},
		{"no thinking", "Thinking is not enabled for models/gemini-1", request("hi"), "includeThoughts", `"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
		{"no signature that skips the check", "Corrupted thought signature.", foreign, "skip_thought", `{"functionCall":{"name":"f","args":{}}}`},
		{"a signature that skips the check", "Function call is missing a thought_signature in functionCall parts.",
			conversation([]model.Part{modelCall("x1", "f", `{}`), sealed(`{}`)}, response("x1", "f")), `{"functionCall":{"name":"f","args":{}}}`, "skip_thought_signature_validator"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, second := rejected(tt.message), answer{Text: "a"}
			first.Expect, second.Expect = []string{tt.before}, []string{tt.learnt}
			m, _ := open(t, script{Answers: []answer{first, second, second}})
			for range 2 {
				if got, err := play(t.Context(), m, tt.r); got != "a\nusage 0 0 0 0\nend stop" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

// An effort that the model doesn't take is an error that names it, after one request.
func TestEffortThatTheModelDoesNotTake(t *testing.T) {
	for _, tt := range []struct{ model, effort, message, want string }{
		{name, "medium", "thinking_level MEDIUM is not supported by this model.", "not supported by this model.\nThe model doesn't accept effort \"medium\". Use another value for --effort, or none."},
		{name, "huge", "", "thinking_config.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), \"HUGE\"\nThe model doesn't accept effort \"huge\"."},
		{"gemini-2.5-flash", "low", "The thinking budget 2048 is invalid.", "\nThe model doesn't accept effort \"low\"."},
		{"gemini-2.5-flash", "huge", "", "gemini-2.5-flash doesn't accept effort \"huge\"\nUse one of minimal, low, medium, high for --effort, or none."},
	} {
		srv, err := geminitest.Start(script{Answers: []answer{{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", tt.message)}}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := gemini.Open(t.Context(), gemini.Options{BaseURL: srv.URL, Model: tt.model})
		if err != nil {
			t.Fatal(err)
		}
		r := request("hi")
		r.Effort = tt.effort
		got, err := play(t.Context(), m, r)
		if !errors.Is(err, model.ErrRejected) || !strings.Contains(err.Error(), tt.want) || got != "" || len(srv.Requests()) > 1 {
			t.Errorf("%s, %s: %q, %v", tt.model, tt.effort, got, err)
		}
		m.Close()
		srv.Close()
	}
}
