package openai_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

// conversation has one of everything.
func conversation() model.Request {
	png := tool.Media{MIMEType: "image/png", Data: []byte{1, 2, 3}}
	pdf := tool.Media{MIMEType: "application/pdf", Data: []byte("%PDF")}
	return model.Request{
		System: "Be <brief>.",
		Messages: []model.Message{
			{Role: model.User, Parts: []model.Part{model.Text("look"), model.Media{Media: png}}},
			{Role: model.Assistant, Parts: []model.Part{
				model.Thought("hm"), model.Text("I look."),
				model.Call{Call: tool.Call{ID: "1", Name: "see", Args: json.RawMessage(`{"p":"a"}`)}},
				model.Call{Call: tool.Call{ID: "2", Name: "see", Args: json.RawMessage(`{"p":`)}},
				model.Call{Call: tool.Call{ID: "3", Name: "now"}},
			}},
			{Role: model.Tool, Parts: []model.Part{
				model.Response{ID: "1", Name: "see", Content: []tool.Part{tool.Text("here:"), png, pdf}},
				model.Response{ID: "2", Name: "see", Content: []tool.Part{tool.Text("not JSON")}, IsError: true},
				model.Response{ID: "3", Name: "now"},
			}},
			{Role: model.Assistant},
		},
		Tools: []tool.Declaration{
			{Name: "see", Description: "Sees.", Parameters: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)},
			{Name: "now"},
		},
		MaxTokens: 100,
	}
}

const wireTail = `
  "tools": [
    {"type": "function", "function": {"name": "see", "description": "Sees.", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
  ],
  "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100}`

const wireCalls = `
  {"role": "assistant", "content": "I look.", "tool_calls": [
    {"id": "1", "type": "function", "function": {"name": "see", "arguments": "{\"p\":\"a\"}"}},
    {"id": "2", "type": "function", "function": {"name": "see", "arguments": "{\"p\":"}},
    {"id": "3", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},`

func TestRequestOnTheWire(t *testing.T) {
	tests := []struct {
		name, model, want string
	}{
		{"a model that takes images", "gpt-4o-mini", `{"model": "gpt-4o-mini", "messages": [
  {"role": "system", "content": "Be <brief>."},
  {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}}]},` + wireCalls + `
  {"role": "tool", "content": "here:\n[image/png: see the next message]\n[application/pdf, 4 bytes: this model can't read it]", "tool_call_id": "1"},
  {"role": "tool", "content": "not JSON", "tool_call_id": "2"},
  {"role": "tool", "content": "", "tool_call_id": "3"},
  {"role": "user", "content": [{"type": "text", "text": "From see, call 1:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}}]},
  {"role": "assistant", "content": ""}
  ],` + wireTail},
		{"a model that takes none", "qwen3-coder", `{"model": "qwen3-coder", "messages": [
  {"role": "system", "content": "Be <brief>."},
  {"role": "user", "content": "look\n[image/png, 3 bytes: this model can't read it]"},` + wireCalls + `
  {"role": "tool", "content": "here:\n[image/png, 3 bytes: this model can't read it]\n[application/pdf, 4 bytes: this model can't read it]", "tool_call_id": "1"},
  {"role": "tool", "content": "not JSON", "tool_call_id": "2"},
  {"role": "tool", "content": "", "tool_call_id": "3"},
  {"role": "assistant", "content": ""}
  ],` + wireTail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := openaitest.Serve(t, script{Key: "sesame", Answers: []answer{{Text: "ok"}}})
			m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL, Model: tt.model, Key: "sesame"})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if _, err := play(t.Context(), m, conversation()); err != nil {
				t.Fatal(err)
			}
			got := srv.Requests()[0]
			if d := cmp.Diff(indent(t, tt.want), indent(t, got.Body)); d != "" {
				t.Errorf("body (-want +got):\n%s", d)
			}
			if got.Path != "/v1/chat/completions" || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("sent %s with %v", got.Path, got.Header)
			}
		})
	}
}

func indent(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace([]byte(s)), "", " "); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return b.String()
}

func TestWhichModelsTakeImages(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-4o": true, "openai/gpt-5-mini": true, "o3": true, "o3-mini": false, "Qwen2.5-VL-7B": true, "qwen3-vl:8b": true,
		"qwen3-coder": false, "deepseek-chat": false, "gemma3:4b": true, "llama3.1": true, "kimi-k2.5": true, "gpt-3.5-turbo": false,
	} {
		srv := openaitest.Serve(t, script{Answers: []answer{{Text: "ok"}}})
		m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL, Model: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := play(t.Context(), m, conversation()); err != nil {
			t.Fatal(err)
		}
		m.Close()
		if got := bytes.Contains([]byte(srv.Requests()[0].Body), []byte("data:image/png")); got != want {
			t.Errorf("%s: images sent: %v", name, got)
		}
	}
}

// A server that rejects images gets the request again without them, once, and the user sees why. Images used to be dropped
// for every model name outside a list, without a word.
func TestImagesRejected(t *testing.T) {
	rejected := answer{Status: 400, Raw: `{"error":{"message":"unknown variant image_url, expected text"}}`}
	srv := openaitest.Serve(t, script{Answers: []answer{rejected, {Text: "ok"}, {Text: "ok"}}})
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL, Model: "some-model"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for range 2 {
		if _, err := play(t.Context(), m, conversation()); err != nil {
			t.Fatal(err)
		}
	}
	var sent []bool
	for _, r := range srv.Requests() {
		sent = append(sent, strings.Contains(r.Body, "data:image/png"))
	}
	if want := []bool{true, false, false}; !slices.Equal(sent, want) {
		t.Errorf("images sent: %v, want %v", sent, want)
	}
	if !strings.Contains(srv.Requests()[1].Body, "this model can't read it") {
		t.Error("the model gets no note")
	}
	// A rejection for another reason keeps the images.
	srv = openaitest.Serve(t, script{Answers: []answer{{Status: 400, Raw: `{"error":{"message":"temperature is too high"}}`}}})
	if m, err = openai.Open(t.Context(), openai.Options{BaseURL: srv.URL, Model: "some-model"}); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := play(t.Context(), m, conversation()); !errors.Is(err, model.ErrRejected) || len(srv.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(srv.Requests()))
	}
}

// A server may compress its answer although that wasn't requested.
func TestCompressedAnswer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, `data: {"choices":[{"delta":{"content":"packed"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL + "/v1", Model: "some-model"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got, err := play(t.Context(), m, conversation()); err != nil || !strings.Contains(got, "packed") {
		t.Errorf("%q, %v", got, err)
	}
}
