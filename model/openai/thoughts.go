package openai

import "github.com/adze-dev/adze/model"

// The fields in which servers send what a model thinks.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
)

// thoughtMode says how thoughts go back. DeepSeek, Kimi and others reject a message with calls whose thought is
// missing, even an empty one; Cerebras and Groq reject a field that they don't know. An error that names the field
// moves on to the next mode.
type thoughtMode int

const (
	thoughtsAsReceived thoughtMode = iota // what this server sent, in the field that it came in
	thoughtsAlways                        // also an empty one where none was sent
	thoughtsNever
)

// thoughts sends a conversation's thoughts back to the server they came from.
type thoughts struct {
	mode   thoughtMode
	server string
	field  string // of an empty one
}

func (m *Model) thoughts(mode thoughtMode, messages []model.Message) thoughts {
	out := thoughts{mode: mode, server: m.address(), field: fieldReasoningContent}
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if t, ok := p.(model.Thought); ok && t.Server == out.server {
				out.field = t.Field
			}
		}
	}
	return out
}

// put writes the thoughts of an assistant's message into out.
func (t thoughts) put(m model.Message, out *wireMessage) {
	if t.mode == thoughtsNever {
		return
	}
	text, field := "", ""
	for _, p := range m.Parts {
		if th, ok := p.(model.Thought); ok && th.Server == t.server {
			text += th.Text
			field = th.Field
		}
	}
	if field == "" && t.mode == thoughtsAlways {
		field = t.field
	}
	switch field {
	case fieldReasoningContent:
		out.ReasoningContent = &text
	case fieldReasoning:
		out.Reasoning = &text
	}
}
