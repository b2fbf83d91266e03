package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/anthropic/anthropictest"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	script = anthropictest.Script
	answer = anthropictest.Answer
	faults = anthropictest.Faults
	call   = anthropictest.Call
)

const key = "sk-ant-secret-key"

// open gives a model that talks to a scripted server and doesn't wait long.
func open(t *testing.T, s script, edit ...func(*anthropic.Options)) (*anthropic.Model, *anthropictest.Server) {
	t.Helper()
	if s.Key == "" {
		s.Key = key
	}
	srv := anthropictest.Serve(t, s)
	return connect(t, srv.URL, edit...), srv
}

func connect(t *testing.T, url string, edit ...func(*anthropic.Options)) *anthropic.Model {
	t.Helper()
	o := anthropic.Options{
		BaseURL: url, Key: key, KeyName: "ANTHROPIC_API_KEY", Model: "claude-x", Retry: api.Retry{First: time.Millisecond, Budget: 100 * time.Millisecond},
	}
	for _, f := range edit {
		f(&o)
	}
	m, err := anthropic.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// play ranges over an answer: text and thoughts joined, everything else one line each.
func play(ctx context.Context, m model.Model, r model.Request) (string, error) {
	text, _, err := converse(ctx, m, r)
	return text, err
}

// converse also returns the answer as a message, as an agent stores it.
func converse(ctx context.Context, m model.Model, r model.Request) (string, model.Message, error) {
	var b strings.Builder
	kept := model.Message{Role: model.Assistant}
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			return b.String(), kept, err
		}
		if p, ok := e.(model.Part); ok {
			kept.Parts = append(kept.Parts, p)
		}
		switch e := e.(type) {
		case model.Text:
			b.WriteString(string(e))
		case model.Thought:
			b.WriteString("(" + string(e) + ")")
		case model.Sealed:
			fmt.Fprintf(&b, "\nsealed %s %s %s\n", e.API, e.Model, e.JSON)
		case model.Call:
			fmt.Fprintf(&b, "\n%s %s %s", e.ID, e.Name, e.Args)
		case model.Usage:
			fmt.Fprintf(&b, "\nusage %d %d %d %d %d", e.Input, e.Output, e.CacheRead, e.CacheCreation, e.Reasoning)
		case model.Retry:
			fmt.Fprintf(&b, "[%s]", e)
		case model.End:
			fmt.Fprintf(&b, "\nend %s", e.Reason)
		}
	}
	return b.String(), kept, nil
}

func request(text string) model.Request {
	return model.Request{Messages: []model.Message{model.Prompt(text)}}
}

// responses answers all calls of a message.
func responses(m model.Message, content ...tool.Part) model.Message {
	out := model.Message{Role: model.Tool}
	for _, c := range m.Calls() {
		out.Parts = append(out.Parts, model.Response{ID: c.ID, Name: c.Name, Content: content})
	}
	return out
}

// members reads a request's body.
func members(t *testing.T, body string) map[string]json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Signed thinking, parallel calls and an image in a result: the server's data is sent back unchanged, and nothing before it
// changes. The scripted server checks that.
func TestConversation(t *testing.T) {
	png := tool.Media{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	m, srv := open(t, script{Bound: true, Answers: []answer{
		{Thought: "Both <files>.", Signature: "sig/1+=", Text: "Looking.", Calls: []call{
			{ID: "toolu_1", Name: "read_file", Args: json.RawMessage(`{"path":"a"}`)}, {ID: "toolu_2", Name: "read_file", Args: json.RawMessage(`{"path":"b"}`)},
		}},
		{Signature: "sig2", Redacted: "hidden", Text: "One is red.", Expect: []string{`"media_type":"image/png"`}},
		{Text: "Yes."},
	}})
	r := model.Request{System: "Be brief.", Tools: []tool.Declaration{{Name: "read_file", Parameters: json.RawMessage(`{"type":"object"}`)}}, Effort: "high", CacheKey: "k"}
	r.Messages = append(r.Messages, model.Prompt("What is in a and b?"))
	_, first, err := converse(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, first, responses(first, tool.Text("a picture"), png))
	_, second, err := converse(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, second, model.Prompt("Sure?"))
	if _, _, err := converse(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	last := string(members(t, srv.Requests()[2].Body)["messages"])
	for _, want := range []string{
		`[{"signature":"sig/1+=","thinking":"Both <files>.","type":"thinking"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"toolu_1"`,
		`[{"signature":"sig2","thinking":"","type":"thinking"},{"type":"redacted_thinking","data":"hidden"},{"type":"text","text":"One is red."}]`,
		`{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"a picture"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("%s\nlacks %s", last, want)
		}
	}
}

func TestOpen(t *testing.T) {
	srv := anthropictest.Serve(t, script{Models: []string{"claude-a", "claude-b"}})
	m, err := anthropic.Open(t.Context(), anthropic.Options{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list, err := m.Models(t.Context())
	if m.Name() != "claude-a" || err != nil || len(list) != 2 || srv.Requests()[0].Path != "/v1/models" {
		t.Errorf("%s, %v, %v", m.Name(), list, err)
	}
	if _, err := anthropic.Open(t.Context(), anthropic.Options{}); err == nil || !strings.HasSuffix(err.Error(), "\nSet ANTHROPIC_MODEL.") {
		t.Errorf("got %v", err)
	}
}

func TestHeaders(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{{Text: "a"}}}, func(o *anthropic.Options) {
		o.BaseURL += "/v1/"
		o.Headers = map[string]string{"Anthropic-Beta": "b"}
	})
	if _, err := play(t.Context(), m, request("hi")); err != nil {
		t.Fatal(err)
	}
	r := srv.Requests()[0]
	for name, want := range map[string]string{"X-Api-Key": key, "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "b", "Content-Type": "application/json", "Authorization": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
