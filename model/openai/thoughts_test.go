package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// answered returns a conversation after an answer: its thoughts, text and calls, and responses to them.
func answered(t *testing.T, m model.Model, before []model.Message) []model.Message {
	t.Helper()
	said, done := model.Message{Role: model.Assistant}, model.Message{Role: model.Tool}
	for e, err := range m.Stream(t.Context(), model.Request{Messages: before}) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.(model.Part); ok {
			said.Parts = append(said.Parts, p)
		}
		if c, ok := e.(model.Call); ok {
			done.Parts = append(done.Parts, model.Response{ID: c.ID, Name: c.Name, Content: []tool.Part{tool.Text("ok")}})
		}
	}
	return append(before, said, done)
}

// A thought goes back to the server that sent it, in the field it came in, and to no other.
func TestThoughtsGoBack(t *testing.T) {
	read := []call{{ID: "a", Name: "read", Args: json.RawMessage(`{}`)}}
	for _, tt := range []struct {
		name string
		a    answer
		want string // in the next request; "": no thought is sent
	}{
		{"reasoning_content", answer{Thought: "hm, ä", Calls: read, Faults: faults{Split: 1}}, `"reasoning_content":"hm, ä"`},
		{"reasoning", answer{Thought: "hm", Field: "reasoning", Calls: read}, `"reasoning":"hm"`},
		{"not streamed", answer{Thought: "hm", Calls: read, Faults: faults{Plain: true}}, `"reasoning_content":"hm"`},
		{"both fields", answer{Raw: `data: {"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm","tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n"}, `"reasoning_content":"hm"`},
		{"an empty one", answer{Raw: `data: {"choices":[{"delta":{"reasoning_content":"","tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n"}, `"reasoning_content":""`},
		{"without calls", answer{Thought: "hm", Text: "a"}, ""},
		{"none", answer{Calls: read}, ""},
		{"tags", answer{Text: "<think>hm</think>", Calls: read}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{tt.a, {Text: "done"}}})
			messages := answered(t, m, request("hi").Messages)
			answered(t, m, messages)
			sent := srv.Requests()[1].Body
			if tt.want != "" && !strings.Contains(sent, tt.want) || strings.Count(sent, `"reasoning`) != strings.Count(tt.want, `"reasoning`) || strings.Contains(sent, "think>") {
				t.Errorf("sent %s", sent)
			}
			raw, err := json.Marshal(messages) // as in a transcript that is read back
			if err != nil {
				t.Fatal(err)
			}
			var back []model.Message
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			other, elsewhere := open(t, script{Answers: []answer{{Text: "done"}}})
			answered(t, other, back)
			if sent := elsewhere.Requests()[0].Body; strings.Contains(sent, "reasoning") {
				t.Errorf("another server got %s", sent)
			}
		})
	}
}

// DeepSeek and Kimi reject a message with calls that has no thought, even an empty one. Others reject the field.
func TestLearnsHowThoughtsGoBack(t *testing.T) {
	const missing = `{"error":{"message":"Missing ` + "`reasoning_content`" + ` field in the assistant message at message index 1."}}`
	const unknown = `{"message":"messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"}`
	empty := `"reasoning_content":""`
	read := []call{{ID: "a", Name: "read", Args: json.RawMessage(`{}`)}}
	history := []model.Message{model.Prompt("hi"), {Role: model.Assistant, Parts: []model.Part{model.Text("hello")}}, model.Prompt("more")}
	t.Run("wants it", func(t *testing.T) {
		m, _ := open(t, script{Answers: []answer{
			{Absent: []string{"reasoning"}, Status: 400, Raw: missing}, {Expect: []string{empty}, Text: "a"}, {Expect: []string{empty}, Text: "b"},
		}})
		answered(t, m, history)
		answered(t, m, history)
	})
	t.Run("does not take it", func(t *testing.T) {
		thought := `"reasoning_content":"hm"`
		m, _ := open(t, script{Answers: []answer{
			{Thought: "hm", Text: "hello", Calls: read},
			{Expect: []string{thought}, Status: 400, Raw: unknown}, {Expect: []string{thought}, Status: 400, Raw: unknown},
			{Absent: []string{"reasoning"}, Text: "a"}, {Absent: []string{"reasoning"}, Text: "b"},
		}})
		messages := append(answered(t, m, history[:1]), model.Prompt("more"))
		answered(t, m, messages)
		answered(t, m, messages)
	})
}

// OpenRouter's reasoning_details go back as one list: the pieces of a text are joined, encrypted data stays as it is.
func TestReasoningDetailsGoBack(t *testing.T) {
	chunk := func(delta string) string { return `data: {"choices":[{"delta":` + delta + `}]}` + "\n\n" }
	raw := chunk(`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"anthropic-claude-v1","index":0}]}`) +
		chunk(`{"reasoning":"look.","reasoning_details":[{"type":"reasoning.text","text":"look.","format":"anthropic-claude-v1","index":0}]}`) +
		chunk(`{"reasoning_details":[{"type":"reasoning.text","signature":"s<g","format":"anthropic-claude-v1","index":0}]}`) +
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"call","format":"google-gemini-v1","index":1}]}`) +
		chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`) +
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"y","index":1}]}`) + "data: [DONE]\n\n"
	m, srv := open(t, script{Answers: []answer{{Raw: raw}, {Text: "done"}}})
	answered(t, m, answered(t, m, request("hi").Messages))
	want := `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"s<g","text":"I look.","type":"reasoning.text"},` +
		`{"type":"reasoning.encrypted","data":"x","id":"call","format":"google-gemini-v1","index":1},{"type":"reasoning.encrypted","data":"y","index":1}]`
	if sent := srv.Requests()[1].Body; !strings.Contains(sent, want) || strings.Contains(sent, `"reasoning":`) {
		t.Errorf("sent %s", sent)
	}
}
