package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            any            `json:"messages"` // nil: see api.Kept
	Tools               []chatTool     `json:"tools,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Effort              string         `json:"reasoning_effort,omitempty"`
	CacheKey            string         `json:"prompt_cache_key,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string, []chatPart or null
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`

	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string          `json:"type"`
	Function chatDeclaration `json:"function"`
}

type chatDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// quirks are limits of this server, learned from its rejections, not from its name.
type quirks struct {
	noStreamOptions     bool
	maxCompletionTokens bool
	noCacheKey          bool
	thoughts            thoughtMode
}

// learn reports whether a rejection shows how to change the request.
func (m *Model) learn(f *api.Failure) bool {
	if !f.Rejected() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.quirks
	if strings.Contains(f.Message, "stream_options") {
		m.quirks.noStreamOptions = true
	}
	if strings.Contains(f.Message, "max_completion_tokens") {
		m.quirks.maxCompletionTokens = true
	}
	if strings.Contains(f.Message, "prompt_cache_key") {
		m.quirks.noCacheKey = true
	}
	// the longer name contains it too
	if strings.Contains(f.Message, fieldReasoning) && !strings.Contains(f.Message, "reasoning_effort") {
		m.quirks.thoughts = min(m.quirks.thoughts+1, thoughtsNever)
	}
	return m.quirks != before
}

// encoding is everything that the JSON of messages depends on.
type encoding struct {
	sees bool
	back thoughts
}

// encode writes the request's body.
func (m *Model) encode(r model.Request) ([]byte, error) {
	m.mu.Lock()
	q := m.quirks
	m.mu.Unlock()
	out := chatRequest{Model: m.name, Stream: true, Effort: r.Effort}
	if !q.noStreamOptions {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if !q.noCacheKey {
		out.CacheKey = r.CacheKey
	}
	limit := cmp.Or(r.MaxTokens, m.client.Options.MaxTokens)
	if q.maxCompletionTokens {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	var entries []api.Entry
	if r.System != "" {
		entries = append(entries, api.Entry{
			From: model.Prompt(r.System), Values: func() []any {
				return []any{chatMessage{
					Role: "system", Content: r.System,
				}}
			},
		})
	}
	sees := m.client.SendsImages()
	back := m.thoughts(q.thoughts, r.Messages)
	for _, msg := range r.Messages {
		entries = append(entries, api.Entry{From: msg, Values: func() []any { return encodeMessage(msg, sees, back) }})
	}
	for _, d := range r.Tools {
		out.Tools = append(out.Tools, chatTool{"function",
			chatDeclaration{d.Name, d.Description, m.client.Parameters(d)}})
	}
	body, err := m.kept.Object(out, "messages", r.CacheKey, encoding{sees, back}, entries, m.client.Options.Sampling,
		m.client.Options.Extra)
	if err != nil {
		return nil, fmt.Errorf("write the request to %s: %w", m.name, err)
	}
	return body, nil
}

// encodeMessage converts a message: each response becomes one message, and their images follow in a user message,
// because tool messages can't have images.
func encodeMessage(m model.Message, sees bool, back thoughts) []any {
	switch m.Role {
	case model.Tool:
		return encodeResponses(m, sees)
	case model.Assistant:
		return []any{encodeAssistant(m, back)}
	}
	var parts []chatPart
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			parts = append(parts, textPart(string(p)))
		case model.Media:
			parts = append(parts, mediaPart(p.Media, sees))
		}
	}
	return []any{chatMessage{Role: "user", Content: flat(parts)}}
}

func encodeAssistant(m model.Message, back thoughts) chatMessage {
	out := chatMessage{Role: "assistant"}
	if s := m.Text(); s != "" {
		out.Content = s
	}
	for _, c := range m.Calls() {
		args := c.Args
		if fixed, ok := schema.RepairJSON(args); ok { // servers that parse the history reject it as the model wrote it
			args = fixed
		}
		out.ToolCalls = append(out.ToolCalls,
			chatCall{c.ID, "function", chatFunction{c.Name, cmp.Or(string(args), "{}")}})
	}
	if out.Content == nil && len(out.ToolCalls) == 0 {
		out.Content = "" // null is only allowed with calls
	}
	back.put(m, &out)
	return out
}

func encodeResponses(m model.Message, sees bool) []any {
	var out []any
	var images []chatPart
	for _, p := range m.Parts {
		r, ok := p.(model.Response)
		if !ok {
			continue
		}
		var text []string
		for _, c := range r.Content {
			switch c := c.(type) {
			case tool.Text:
				text = append(text, string(c))
			case tool.Media:
				part := mediaPart(c, sees)
				if part.ImageURL == nil {
					text = append(text, part.Text)
					continue
				}
				text = append(text, fmt.Sprintf("[%s: see the next message]", c.MIMEType))
				images = append(images, textPart(fmt.Sprintf("From %s, call %s:", r.Name, r.ID)), part)
			}
		}
		out = append(out, chatMessage{Role: "tool", ToolCallID: r.ID, Content: strings.Join(text, "\n")})
	}
	if len(images) > 0 {
		out = append(out, chatMessage{Role: "user", Content: images})
	}
	return out
}

// flat returns parts without images as one string, which every server accepts.
func flat(parts []chatPart) any {
	var text []string
	for _, p := range parts {
		if p.ImageURL != nil {
			return parts
		}
		text = append(text, p.Text)
	}
	return strings.Join(text, "\n")
}

func textPart(s string) chatPart { return chatPart{Type: "text", Text: s} }

// mediaPart returns the image, or a note in its place.
func mediaPart(m tool.Media, sees bool) chatPart {
	if !sees || !strings.HasPrefix(m.MIMEType, "image/") {
		return textPart(fmt.Sprintf("[%s, %d bytes: this model can't read it]", cmp.Or(m.MIMEType, "media"),
			len(m.Data)))
	}
	url := "data:" + m.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	return chatPart{Type: "image_url", ImageURL: &imageURL{url}}
}
