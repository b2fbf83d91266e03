package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

type wireRequest struct {
	Model               string         `json:"model"`
	Messages            []wireMessage  `json:"messages"`
	Tools               []wireTool     `json:"tools,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string, []wirePart or null
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`

	ReasoningContent *string `json:"reasoning_content,omitempty"`
	Reasoning        *string `json:"reasoning,omitempty"`
}

type wirePart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string          `json:"type"`
	Function wireDeclaration `json:"function"`
}

type wireDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// quirks are what this server turned out not to take. They are learned from its refusals, not from its name.
type quirks struct {
	noStreamOptions     bool
	maxCompletionTokens bool
	thoughts            thoughtMode
}

// learn reports whether a refusal taught something that makes another attempt worthwhile.
func (m *Model) learn(f *failure) bool {
	var e *model.Error
	if !errors.As(f.err, &e) || e.Kind == model.ErrContextLength ||
		e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.quirks
	if strings.Contains(f.body, "stream_options") {
		m.quirks.noStreamOptions = true
	}
	if strings.Contains(f.body, "max_completion_tokens") {
		m.quirks.maxCompletionTokens = true
	}
	if strings.Contains(f.body, fieldReasoning) { // which is in the longer name too
		m.quirks.thoughts = min(m.quirks.thoughts+1, thoughtsNever)
	}
	return m.quirks != before
}

// encode writes the request's body.
func (m *Model) encode(r model.Request) ([]byte, error) {
	m.mu.Lock()
	q := m.quirks
	m.mu.Unlock()
	out := wireRequest{Model: m.o.Model, Stream: true}
	if !q.noStreamOptions {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	most := cmp.Or(r.MaxTokens, m.o.MaxTokens)
	if q.maxCompletionTokens {
		out.MaxCompletionTokens = most
	} else {
		out.MaxTokens = most
	}
	if r.System != "" {
		out.Messages = append(out.Messages, wireMessage{Role: "system", Content: r.System})
	}
	sees := m.o.Images.sent(m.o.Model)
	back := m.thoughts(q.thoughts, r.Messages)
	for _, msg := range r.Messages {
		if msg.Role == model.Assistant {
			out.Messages = append(out.Messages, encodeAssistant(msg, back))
			continue
		}
		out.Messages = append(out.Messages, encodeMessage(msg, sees)...)
	}
	for _, d := range r.Tools {
		out.Tools = append(out.Tools, wireTool{"function", wireDeclaration{d.Name, d.Description, m.parameters(d)}})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("write the request to %s: %w", m.o.Model, err)
	}
	return b.Bytes(), nil
}

// parameters is a tool's schema for the wire. Our own are written for it; of others each is lowered once.
func (m *Model) parameters(d tool.Declaration) json.RawMessage {
	switch {
	case len(d.Parameters) == 0:
		return json.RawMessage(anyObject)
	case d.Origin == "":
		return d.Parameters
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := d.Origin + " " + d.Name
	if known, ok := m.schemas[key]; ok && bytes.Equal(known.original, d.Parameters) {
		return known.lowered
	}
	if m.schemas == nil {
		m.schemas = map[string]schema{}
	}
	m.schemas[key] = schema{d.Parameters, lowered(d.Parameters)}
	return m.schemas[key].lowered
}

// encodeMessage gives the wire's messages for one of ours: responses are one message each, and their images follow
// in a user's message, because the wire has no place for them in a tool's.
func encodeMessage(m model.Message, sees bool) []wireMessage {
	if m.Role == model.Tool {
		return encodeResponses(m, sees)
	}
	var parts []wirePart
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			parts = append(parts, textPart(string(p)))
		case model.Media:
			parts = append(parts, mediaPart(p.Media, sees))
		}
	}
	return []wireMessage{{Role: "user", Content: flat(parts)}}
}

func encodeAssistant(m model.Message, back thoughts) wireMessage {
	out := wireMessage{Role: "assistant"}
	if s := m.Text(); s != "" {
		out.Content = s
	}
	for _, c := range m.Calls() {
		args := c.Args
		if fixed, ok := tool.RepairJSON(args); ok { // servers that parse the history reject it as the model wrote it
			args = fixed
		}
		out.ToolCalls = append(out.ToolCalls, wireCall{c.ID, "function", wireFunction{c.Name, cmp.Or(string(args), "{}")}})
	}
	if out.Content == nil && len(out.ToolCalls) == 0 {
		out.Content = "" // null is for calls only
	}
	back.put(m, &out)
	return out
}

func encodeResponses(m model.Message, sees bool) []wireMessage {
	var out []wireMessage
	var images []wirePart
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
		out = append(out, wireMessage{Role: "tool", ToolCallID: r.ID, Content: strings.Join(text, "\n")})
	}
	if len(images) > 0 {
		out = append(out, wireMessage{Role: "user", Content: images})
	}
	return out
}

// flat is parts without an image as one string, which every server takes.
func flat(parts []wirePart) any {
	var text []string
	for _, p := range parts {
		if p.ImageURL != nil {
			return parts
		}
		text = append(text, p.Text)
	}
	return strings.Join(text, "\n")
}

func textPart(s string) wirePart { return wirePart{Type: "text", Text: s} }

// mediaPart is the image, or a note in its place.
func mediaPart(m tool.Media, sees bool) wirePart {
	if !sees || !strings.HasPrefix(m.MIMEType, "image/") {
		return textPart(fmt.Sprintf("[%s, %d bytes: this model can't read it]", cmp.Or(m.MIMEType, "media"), len(m.Data)))
	}
	url := "data:" + m.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	return wirePart{Type: "image_url", ImageURL: &imageURL{url}}
}
