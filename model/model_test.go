package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMessageJSON(t *testing.T) {
	tests := []struct {
		name string
		m    model.Message
		want string
	}{
		{"a prompt", model.Prompt("a < b"), `{"role":"user","parts":[{"text":"a < b"}]}`},
		{"an empty message", model.Message{Role: model.Assistant}, `{"role":"assistant","parts":[]}`},
		{"thought, text, call", model.Message{Role: model.Assistant, Parts: []model.Part{
			model.Thought("hm"), model.Text(""),
			model.Call{Call: tool.Call{ID: "1", Name: "clock", Args: json.RawMessage(`{"a":[1]}`)}},
		}}, `{"role":"assistant","parts":[{"thought":"hm"},{"text":""},{"call":{"id":"1","name":"clock","args":{"a":[1]}}}]}`},
		{"sealed data, with its whitespace", model.Message{Role: model.Assistant, Parts: []model.Part{
			model.Sealed{API: "anthropic", Model: "m", JSON: json.RawMessage(`{"signature": "a<b\u003c"}`)},
		}}, `{"role":"assistant","parts":[{"sealed":{"api":"anthropic","model":"m","json":"{\"signature\": \"a<b\\u003c\"}"}}]}`},
		{"sealed data that is not UTF-8", model.Message{Role: model.Assistant, Parts: []model.Part{
			model.Sealed{API: "a", Model: "m", JSON: json.RawMessage("\"\xff\"")},
		}}, `{"role":"assistant","parts":[{"sealed":{"api":"a","model":"m","base64":"Iv8i"}}]}`},
		{"arguments that are not JSON", model.Message{Role: model.Assistant, Parts: []model.Part{
			model.Call{Call: tool.Call{ID: "1", Name: "clock", Args: json.RawMessage(`{"a`)}},
		}}, `{"role":"assistant","parts":[{"call":{"id":"1","name":"clock","said":"{\"a"}}]}`},
		{"responses", model.Message{Role: model.Tool, Parts: []model.Part{
			model.Response{ID: "1", Name: "clock", Content: []tool.Part{tool.Text("noon")}},
			model.Response{ID: "2", Name: "see", Content: []tool.Part{tool.Text("x"), tool.Media{MIMEType: "image/png", Data: []byte{1}}}, IsError: true},
		}}, `{"role":"tool","parts":[{"response":{"id":"1","name":"clock","result":{"llmContent":"noon"}}},` +
			`{"response":{"id":"2","name":"see","result":{"llmContent":["x",{"inlineData":{"mimeType":"image/png","data":"AQ=="}}]},"isError":true}}]}`},
		{"media", model.Message{Role: model.User, Parts: []model.Part{
			model.Media{Media: tool.Media{MIMEType: "image/png", Data: []byte{1}}},
		}}, `{"role":"user","parts":[{"media":{"mimeType":"image/png","data":"AQ=="}}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.m.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("JSON (-want +got):\n%s", d)
			}
			var back model.Message
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.m, back); d != "" {
				t.Errorf("read back (-want +got):\n%s", d)
			}
		})
	}
}

func TestMessageJSONKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := model.Message{Role: model.Assistant}
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			s := rapid.String().Draw(t, "s")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				m.Parts = append(m.Parts, model.Text(s))
			case 1:
				m.Parts = append(m.Parts, model.Thought(s), model.Sealed{API: s, Model: s, JSON: json.RawMessage(s)})
			case 2:
				// The blank keeps what is said from being JSON that is written otherwise.
				m.Parts = append(m.Parts, model.Call{Call: tool.Call{ID: s, Name: s, Args: json.RawMessage("{" + s)}})
			case 3:
				m.Parts = append(m.Parts, model.Response{ID: s, Content: []tool.Part{tool.Text("x" + s)}, IsError: s == ""})
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back model.Message
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, back); d != "" {
			t.Fatalf("read back (-want +got):\n%s", d)
		}
	})
}

func TestUnknownPartIsAnError(t *testing.T) {
	var m model.Message
	err := json.Unmarshal([]byte(`{"role":"user","parts":[{"text":"a"},{"video":"b"}]}`), &m)
	if err == nil || err.Error() != "read a message of user: part 1 is not a text, thought, call, sealed, response or media" {
		t.Errorf("got %v", err)
	}
}

func TestErrorHasKindAndCause(t *testing.T) {
	err := fmt.Errorf("turn 3: %w", model.Errorf(model.ErrUnreachable, "connect to http://x: %w", io.EOF))
	if !errors.Is(err, model.ErrUnreachable) || !errors.Is(err, io.EOF) || errors.Is(err, model.ErrWire) {
		t.Errorf("the chain of %v lacks its kind or cause", err)
	}
	if got, want := err.Error(), "turn 3: connect to http://x: EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRetryIsALine(t *testing.T) {
	limit := model.Errorf(model.ErrRateLimit, "status 429: slow down")
	for want, r := range map[string]model.Retry{
		"rate limited, retrying in 8 s (attempt 3)":         {Attempt: 2, Wait: 7900 * time.Millisecond, Err: limit},
		"rate limited, retrying in 0.4 s (attempt 2)":       {Attempt: 1, Wait: 400 * time.Millisecond, Err: limit},
		"rate limited, retrying in 2 min (attempt 2)":       {Attempt: 1, Wait: 120 * time.Second, Err: limit},
		"rate limited, retrying in 2 min 5 s (attempt 2)":   {Attempt: 1, Wait: 125 * time.Second, Err: limit},
		"server error 503, retrying in 1 s (attempt 2)":     {Attempt: 1, Wait: time.Second, Err: &model.Error{Kind: model.ErrServer, Status: 503, Err: io.EOF}},
		"server not reachable, retrying in 1 s (attempt 2)": {Attempt: 1, Wait: time.Second, Err: model.Errorf(model.ErrUnreachable, "dial")},
		"empty answer, retrying (attempt 2)":                {Attempt: 1, Err: errors.New("empty answer")},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPartsOfAMessage(t *testing.T) {
	call := tool.Call{ID: "1", Name: "clock"}
	m := model.Message{Role: model.Assistant, Parts: []model.Part{
		model.Thought("no"), model.Text("a"), model.Call{Call: call}, model.Text("b"),
	}}
	if m.Text() != "ab" {
		t.Errorf("Text() = %q", m.Text())
	}
	if d := cmp.Diff([]tool.Call{call}, m.Calls()); d != "" {
		t.Error(d)
	}
	u := model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreation: 4, Reasoning: 5}
	if got := u.Plus(u); got != (model.Usage{Input: 2, Output: 4, CacheRead: 6, CacheCreation: 8, Reasoning: 10}) || got.Total() != 6 {
		t.Errorf("usage adds up to %+v", got)
	}
}
