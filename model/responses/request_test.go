package responses_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/responses"
	"github.com/adze-dev/adze/model/responses/responsestest"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

func sealed(raw string) model.Sealed {
	return model.Sealed{API: responses.Name, Model: "gpt-5.5", JSON: json.RawMessage(raw)}
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.Assistant, Parts: parts}
}

func called(id, name, args string) model.Call {
	return model.Call{Call: tool.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func responded(id string, parts ...tool.Part) model.Message {
	return model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: id, Name: "read", Content: parts}}}
}

const thought = `{"encrypted_content":"g<A>","summary":[],"type":"reasoning"}`

// Each message as the items of a request.
func TestItems(t *testing.T) {
	const hi = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	png, pdf := tool.Media{MIMEType: "image/png", Data: []byte("PNG")}, tool.Media{MIMEType: "application/pdf", Data: []byte("PDF")}
	prompt := model.Prompt("hi")
	for name, c := range map[string]struct {
		messages []model.Message
		want     string
	}{
		"a prompt": {[]model.Message{prompt}, hi},
		"an image and a PDF": {
			[]model.Message{{Role: model.User, Parts: []model.Part{model.Text("a<b"), model.Media{Media: png}, model.Media{Media: pdf}}}},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"a<b"},{"type":"input_image","image_url":"data:image/png;base64,UE5H"},` +
				`{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,UERG"}]}`,
		},
		"a sound": {
			[]model.Message{{Role: model.User, Parts: []model.Part{model.Media{Media: tool.Media{MIMEType: "audio/wav", Data: []byte("a")}}}}},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"[audio/wav, 1 bytes: this model can't read it]"}]}`,
		},
		"an answer in its order": {
			[]model.Message{prompt, assistant(model.Thought("hm"), sealed(thought), model.Text("I look."), sealed(`{"type":"message","phase":"commentary"}`),
				called("c", "read", `{"a":"<"}`)), responded("c", tool.Text("x"), tool.Text("y"))},
			hi + `,` + thought + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}],"phase":"commentary"},` +
				`{"type":"function_call","call_id":"c","name":"read","arguments":"{\"a\":\"<\"}"},{"type":"function_call_output","call_id":"c","output":"x\ny"}`,
		},
		"two messages": {
			[]model.Message{prompt, assistant(model.Text("a"), sealed(`{"type":"message","phase":"commentary"}`), model.Text("\n\n"), model.Text("b"), sealed(`{"type":"message","phase":"final_answer"}`))},
			hi + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"phase":"commentary"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}],"phase":"final_answer"}`,
		},
		"an image in a result": {
			[]model.Message{prompt, assistant(called("c", "read", "{}")), responded("c", tool.Text("a dot"), png)},
			hi + `,{"type":"function_call","call_id":"c","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"c",` +
				`"output":[{"type":"input_text","text":"a dot"},{"type":"input_image","image_url":"data:image/png;base64,UE5H"}]}`,
		},
		"reasoning that nothing follows": {[]model.Message{prompt, assistant(model.Text("a"), sealed(thought))},
			hi + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`},
		"of other models and APIs": {
			[]model.Message{prompt, assistant(model.Sealed{API: "openai", Model: "gpt-5.5", JSON: json.RawMessage(thought)},
				model.Sealed{API: responses.Name, Model: "gpt-5.4", JSON: json.RawMessage(thought)}, model.Text("a"))},
			hi + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`,
		},
		"a call that another server made": {
			[]model.Message{prompt, assistant(called("a|b", "no such tool", `{"a":1,}`)), responded("a|b", tool.Text("no"))},
			hi + `,{"type":"function_call","call_id":"` + api.ID("a|b") + `","name":"no_such_tool","arguments":"{\"a\":1}"},` +
				`{"type":"function_call_output","call_id":"` + api.ID("a|b") + `","output":"no"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{{Encrypted: "g<A>", Text: "ok"}}})
			if _, err := play(t.Context(), m, model.Request{Messages: c.messages}); err != nil {
				t.Fatal(err)
			}
			var sent struct{ Input json.RawMessage }
			if err := json.Unmarshal([]byte(srv.Requests()[0].Body), &sent); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff("["+c.want+"]", string(sent.Input)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// The whole of a request, and the parameters that settings add.
func TestRequest(t *testing.T) {
	srv := responsestest.Serve(t, script{Answers: []answer{{Text: "a"}}, Repeat: true})
	r := model.Request{
		System: "Be brief.", Messages: []model.Message{model.Prompt("hi")}, Effort: "low", CacheKey: "k1", MaxTokens: 100,
		Tools: []tool.Declaration{{Name: "read", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}},
	}
	for _, c := range []struct {
		name string
		o    responses.Options
		r    model.Request
		want string
	}{
		{"all", responses.Options{}, r, `{"model":"m","instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],` +
			`"tools":[{"type":"function","name":"read","description":"Reads.","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":false}],` +
			`"stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":100,"prompt_cache_key":"k1"}`},
		{"least", responses.Options{}, model.Request{}, `{"model":"m","input":[],"stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}}`},
		{"settings", responses.Options{
			MaxTokens: 7, Sampling: map[string]json.RawMessage{"max_tokens": json.RawMessage("9"), "temperature": json.RawMessage("0.5")},
			Extra: map[string]json.RawMessage{"reasoning": json.RawMessage(`{"summary":"detailed"}`)},
		}, model.Request{Effort: "high"}, `{"include":["reasoning.encrypted_content"],"input":[],"max_output_tokens":9,"model":"m","reasoning":{"effort":"high","summary":"detailed"},"store":false,"stream":true,"temperature":0.5}`},
	} {
		c.o.BaseURL, c.o.Model = srv.URL, "m"
		m, err := responses.Open(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := play(t.Context(), m, c.r); err != nil {
			t.Fatal(err)
		}
		m.Close()
		all := srv.Requests()
		if d := cmp.Diff(c.want, all[len(all)-1].Body); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
}

// A tool with a grammar is a custom tool: its input is text, in both directions. A server that has no such tools gets a
// function.
func TestCustomTools(t *testing.T) {
	patch := tool.Declaration{
		Name: "apply_patch", Description: "Patches.", Grammar: "start: \"x\"",
		Parameters: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}}}`),
	}
	r := model.Request{Tools: []tool.Declaration{patch}, Messages: []model.Message{
		model.Prompt("hi"), assistant(called("c", "apply_patch", `{"input":"*** Begin\n"}`), called("d", "apply_patch", `{"patch":1}`)),
		{Role: model.Tool, Parts: []model.Part{
			model.Response{ID: "c", Name: "apply_patch", Content: []tool.Part{tool.Text("done")}},
			model.Response{ID: "d", Name: "apply_patch", Content: []tool.Part{tool.Text("no")}},
		}},
	}}
	const declared = `{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}}`
	rejected := string(must(t, map[string]any{"error": map[string]any{"message": "Invalid value: 'custom'.", "param": "tools[0].type"}}))
	m, _ := open(t, script{Answers: []answer{
		{Expect: []string{declared, `{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** Begin\n"}`,
			`"input":"{\"patch\":1}"}`, `{"type":"custom_tool_call_output","call_id":"c","output":"done"}`}, Text: "a"},
		{Status: 400, Raw: rejected},
		{Absent: []string{"custom"}, Text: "b", Expect: []string{`{"type":"function","name":"apply_patch"`, `"strict":false`,
			`{"type":"function_call","call_id":"c"`, `{"type":"function_call_output","call_id":"c"`}},
	}})
	for _, want := range []string{"text a", "text b"} {
		if got, err := play(t.Context(), m, r); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// What a server or model doesn't take is omitted from then on, and not only once.
func TestLearns(t *testing.T) {
	rejection := func(message, param, code string) string {
		return string(must(t, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}}))
	}
	image := []model.Message{model.Prompt("hi"), assistant(called("c", "read", "{}")), responded("c", tool.Text("a dot"), tool.Media{MIMEType: "image/png", Data: []byte("PNG")})}
	phase := []model.Message{model.Prompt("hi"), assistant(model.Text("a"), sealed(`{"type":"message","phase":"final_answer"}`)), model.Prompt("more")}
	for name, c := range map[string]struct {
		raw            string
		messages       []model.Message
		absent, expect string
	}{
		"no summaries":         {rejection("Your organization must be verified to generate reasoning summaries.", "reasoning.summary", "unsupported_value"), nil, `"summary"`, `"include"`},
		"no reasoning":         {rejection("Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary", ""), nil, `"reasoning":`, `"include"`},
		"no encrypted content": {rejection("Encrypted content is not supported with this model.", "include", ""), nil, `"include"`, `"summary"`},
		"no streams":           {rejection("Your organization must be verified to stream this model.", "stream", "unsupported_value"), nil, `"stream":true`, `"stream":false`},
		"no cache key":         {rejection("Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key", "unknown_parameter"), nil, `prompt_cache_key`, `"summary"`},
		"no store":             {rejection("Unknown parameter: 'store'.", "store", "unknown_parameter"), nil, `"store"`, `"summary"`},
		"no phase":             {rejection("Unknown parameter: 'input[1].phase'.", "input[1].phase", "unknown_parameter"), phase, `"phase"`, `"output_text"`},
		"no images in results": {rejection("Invalid type for 'input[2].output': expected a string, but got an array instead.", "input[2].output", "invalid_type"), image, `"output":[`,
			`"output":"a dot\n[image: see the next message]"},{"type":"message","role":"user","content":[{"type":"input_text","text":"From read, call c:"},{"type":"input_image"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := model.Request{Messages: c.messages, CacheKey: "k1"}
			m, _ := open(t, script{Answers: []answer{
				{Status: 400, Raw: c.raw, Expect: []string{c.absent}},
				{Text: "a", Absent: []string{c.absent}, Expect: []string{c.expect}},
				{Text: "a", Absent: []string{c.absent}, Expect: []string{c.expect}},
			}})
			for range 2 {
				if got, err := play(t.Context(), m, r); err != nil || got != "text a\nusage 0 0 0 0\nend stop" {
					t.Errorf("%v: %s", err, got)
				}
			}
		})
	}
	t.Run("once for each reason", func(t *testing.T) {
		raw := rejection("Unknown parameter: 'store'.", "store", "unknown_parameter")
		m, _ := open(t, script{Answers: []answer{{Status: 400, Raw: raw}, {Status: 400, Raw: raw}}})
		if _, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrRejected) {
			t.Error(err)
		}
	})
}

func must(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// converse plays a turn and gives the conversation after it, as a transcript that is read back has it.
func converse(t *testing.T, m model.Model, before []model.Message) ([]model.Message, []string) {
	t.Helper()
	said, done := model.Message{Role: model.Assistant}, model.Message{Role: model.Tool}
	var notes []string
	for e, err := range m.Stream(t.Context(), model.Request{Messages: before}) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.(model.Part); ok {
			said.Parts = append(said.Parts, p)
		}
		switch e := e.(type) {
		case model.Call:
			done.Parts = append(done.Parts, model.Response{ID: e.ID, Name: e.Name, Content: []tool.Part{tool.Text("ok")}})
		case model.Retry:
			notes = append(notes, e.String())
		}
	}
	after := append(append([]model.Message{}, before...), said)
	if len(done.Parts) > 0 {
		after = append(after, done)
	} else {
		after = append(after, model.Prompt("more"))
	}
	var back []model.Message
	if err := json.Unmarshal(must(t, after), &back); err != nil {
		t.Fatal(err)
	}
	return back, notes
}

// Reasoning goes back to the server byte for byte, without its ID, before the call that it led to.
func TestReasoningGoesBack(t *testing.T) {
	back := `{"encrypted_content":"gA<&>==","summary":[{"type":"summary_text","text":"hm <b>"}],"type":"reasoning"},{"type":"function_call","call_id":"c1"`
	m, _ := open(t, script{Answers: []answer{
		{Thought: "hm <b>", Encrypted: "gA<&>==", Calls: []call{{ID: "c1", Name: "read"}, {ID: "c2", Name: "read"}}},
		{Expect: []string{back}, Absent: []string{`"id"`, "rs_"}, Encrypted: "gB", Text: "done", Phase: "final_answer"},
		{Expect: []string{back, `{"encrypted_content":"gB","summary":[],"type":"reasoning"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}],"phase":"final_answer"}`}, Text: "a"},
	}})
	messages := request("hi").Messages
	for range 3 {
		messages, _ = converse(t, m, messages)
	}
}

// Reasoning that a server can't decrypt is removed once, the user is informed, and later reasoning goes back again.
func TestRejectedReasoning(t *testing.T) {
	const status = `{"error":{"message":"The encrypted content gAAA...DQ== could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`
	for name, reject := range map[string]answer{
		"a status":           {Status: 400, Raw: status},
		"only a code":        {Status: 400, Raw: `{"error":{"message":"Bad state.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`},
		"a following item":   {Status: 400, Raw: `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error"}}`},
		"an event":           {Raw: frames(`{"type":"error","sequence_number":2,` + strings.TrimPrefix(status, "{"))},
		"an event of a kind": {Raw: frames(`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			reject.Expect = []string{`"gOLD"`}
			m, _ := open(t, script{Answers: []answer{
				{Encrypted: "gOLD", Calls: []call{{ID: "c1", Name: "read"}}},
				reject,
				{Absent: []string{`"gOLD"`}, Expect: []string{`"call_id":"c1"`}, Encrypted: "gNEW", Calls: []call{{ID: "c2", Name: "read"}}},
				{Absent: []string{`"gOLD"`}, Expect: []string{`"gNEW"`}, Text: "done"},
			}})
			messages, _ := converse(t, m, request("hi").Messages)
			messages, notes := converse(t, m, messages)
			if len(notes) != 1 || !strings.Contains(notes[0], "the server rejected earlier reasoning, which is removed from the conversation") {
				t.Errorf("notes: %q", notes)
			}
			if _, notes = converse(t, m, messages); notes != nil {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}
