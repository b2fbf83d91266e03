package responses

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

type request struct {
	Model        string        `json:"model"`
	Instructions string        `json:"instructions,omitempty"`
	Input        any           `json:"input"` // nil: see api.Kept
	Tools        []declaration `json:"tools,omitempty"`
	Stream       bool          `json:"stream"`
	Store        *bool         `json:"store,omitempty"`
	Include      []string      `json:"include,omitempty"`
	Reasoning    *reasoning    `json:"reasoning,omitempty"`
	MaxTokens    int           `json:"max_output_tokens,omitempty"`
	CacheKey     string        `json:"prompt_cache_key,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// declaration is a tool. Unless strict is false, the server requires all parameters to be required.
type declaration struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Format      *grammar        `json:"format,omitempty"` // of a custom tool, which has no parameters
}

// grammar is the format of a custom tool's input.
type grammar struct {
	Type       string `json:"type"`
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`
}

// The types of items.
const (
	typeMessage   = "message"
	typeReasoning = "reasoning"
	typeCall      = "function_call"
	typeCustom    = "custom_tool_call"
	typeOutput    = "function_call_output"
	typeWritten   = "custom_tool_call_output"
)

type messageItem struct {
	Type    string    `json:"type"`
	Role    string    `json:"role"`
	Content []content `json:"content"`
	Phase   string    `json:"phase,omitempty"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type customItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Input  string `json:"input"`
}

type outputItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // string or []content
}

// content is a piece of a message or of a tool's output.
type content struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	ImageURL string  `json:"image_url,omitempty"`
	Filename string  `json:"filename,omitempty"`
	FileData string  `json:"file_data,omitempty"`
}

// encoding is everything that the JSON of items depends on. The set of rejected reasoning only grows.
type encoding struct {
	quirks   quirks
	rejected int
	sees     bool
	custom   string // names of custom tools
}

// encode writes the request's body.
func (m *Model) encode(r model.Request) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, o := m.quirks, m.client.Options
	out := request{
		Model: m.name, Instructions: r.System, Stream: !q.noStream,
		MaxTokens: cmp.Or(r.MaxTokens, o.MaxTokens),
	}
	if !q.noStore {
		out.Store = new(bool) // otherwise OpenAI stores responses for 30 days
	}
	if !q.noEncrypted {
		out.Include = []string{"reasoning.encrypted_content"}
	}
	if !q.noCacheKey {
		out.CacheKey = r.CacheKey
	}
	think := reasoning{Effort: r.Effort}
	if !q.noSummary {
		think.Summary = "auto" // without it, no reasoning is shown
	}
	if think != (reasoning{}) {
		out.Reasoning = &think
	}
	var custom []string
	for _, d := range r.Tools {
		declared := declaration{Type: "function", Name: d.Name, Description: d.Description}
		if d.Grammar != "" && !q.noCustom {
			declared.Type, declared.Format = "custom", &grammar{"grammar", "lark", d.Grammar}
			custom = append(custom, d.Name)
		} else {
			declared.Parameters, declared.Strict = m.client.Parameters(d), new(bool)
		}
		out.Tools = append(out.Tools, declared)
	}
	var input []api.Entry
	for _, msg := range r.Messages {
		input = append(input, api.Entry{From: msg, Values: func() []any { return m.items(msg, custom) }})
	}
	how := encoding{q, len(m.rejected), m.client.SendsImages(), strings.Join(custom, " ")}
	body, err := m.kept.Object(out, "input", r.CacheKey, how, input, sampling(o.Sampling), o.Extra)
	if err != nil {
		return nil, fmt.Errorf("write the request to %s: %w", m.name, err)
	}
	return body, nil
}

// sampling returns the parameters with this API's names.
func sampling(params map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range params {
		if name == "max_tokens" || name == "max_completion_tokens" {
			name = "max_output_tokens"
		}
		out[name] = value
	}
	return out
}

// items converts a message. The calls of custom tools, and their results, are their own items. The caller holds the
// lock.
func (m *Model) items(msg model.Message, custom []string) []any {
	switch msg.Role {
	case model.Assistant:
		return m.said(msg, custom)
	case model.Tool:
		return m.outputs(msg, custom)
	}
	parts := []content{}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case model.Text:
			parts = append(parts, inputText(string(p)))
		case model.Media:
			parts = append(parts, m.media(p.Media))
		}
	}
	return []any{messageItem{Type: typeMessage, Role: "user", Content: parts}}
}

// said returns the items of an answer: text, calls and reasoning in order. Reasoning at the end is omitted: the server
// rejects it.
func (m *Model) said(msg model.Message, custom []string) []any {
	var out []any
	var text *messageItem // the text that a phase may still follow
	spoken := false
	whole := 0 // items up to the last one that isn't reasoning
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case model.Text:
			s := string(p)
			if text == nil && spoken {
				s = strings.TrimPrefix(s, between)
			}
			if s == "" {
				continue
			}
			if text == nil {
				text = &messageItem{
					Type: typeMessage, Role: "assistant", Content: []content{{Type: "output_text", Text: new(string)}},
				}
				out = append(out, text)
			}
			*text.Content[0].Text += s
			spoken, whole = true, len(out)
		case model.Call:
			text = nil
			out = append(out, called(p, custom))
			whole = len(out)
		case model.Sealed:
			if !p.For(Name, m.name) || m.rejected.Has(p) {
				continue
			}
			if sealedType(p) == typeReasoning {
				text = nil
				out = append(out, p.JSON)
				continue
			}
			if text != nil && !m.quirks.noPhase {
				text.Phase = sealedPhase(p)
			}
			text = nil
		}
	}
	return out[:whole]
}

// called returns the item of a call.
func called(c model.Call, custom []string) any {
	args := string(api.Arguments(c.Args))
	if !slices.Contains(custom, c.Name) {
		return callItem{typeCall, api.ID(c.ID), api.Name(c.Name), args}
	}
	var written struct{ Input *string }
	if json.Unmarshal([]byte(args), &written) == nil && written.Input != nil {
		args = *written.Input
	}
	return customItem{typeCustom, api.ID(c.ID), api.Name(c.Name), args}
}

// outputs returns the results of calls.
func (m *Model) outputs(msg model.Message, custom []string) []any {
	var out []any
	var after []content
	for _, p := range msg.Parts {
		r, ok := p.(model.Response)
		if !ok {
			continue
		}
		item := outputItem{Type: typeOutput, CallID: api.ID(r.ID)}
		if slices.Contains(custom, r.Name) {
			item.Type = typeWritten
		}
		parts := m.contents(r.Content)
		if m.quirks.plainOutputs {
			var more []content
			if parts, more = plain(parts); len(more) > 0 {
				after = append(append(after, inputText(fmt.Sprintf("From %s, call %s:", r.Name, r.ID))), more...)
			}
		}
		item.Output = flat(parts)
		out = append(out, item)
	}
	if len(after) > 0 {
		out = append(out, messageItem{Type: typeMessage, Role: "user", Content: after})
	}
	return out
}

func (m *Model) contents(parts []tool.Part) []content {
	var out []content
	for _, p := range parts {
		switch p := p.(type) {
		case tool.Text:
			out = append(out, inputText(string(p)))
		case tool.Media:
			out = append(out, m.media(p))
		}
	}
	return out
}

// plain removes images and files from a result, and leaves a note in place of each.
func plain(parts []content) (texts, others []content) {
	for _, p := range parts {
		if p.Text == nil {
			others = append(others, p)
			p = inputText("[" + strings.TrimPrefix(p.Type, "input_") + ": see the next message]")
		}
		texts = append(texts, p)
	}
	return texts, others
}

// flat returns a result without images as one string.
func flat(parts []content) any {
	var text []string
	for _, p := range parts {
		if p.Text == nil {
			return parts
		}
		text = append(text, *p.Text)
	}
	return strings.Join(text, "\n")
}

func inputText(s string) content { return content{Type: "input_text", Text: &s} }

// media returns an image or a PDF, or a note in its place.
func (m *Model) media(d tool.Media) content {
	url := func() string { return "data:" + d.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(d.Data) }
	sent := m.client.SendsImages()
	switch {
	case sent && strings.HasPrefix(d.MIMEType, "image/"):
		return content{Type: "input_image", ImageURL: url()}
	case sent && d.MIMEType == "application/pdf":
		return content{Type: "input_file", Filename: "document.pdf", FileData: url()}
	}
	return inputText(fmt.Sprintf("[%s, %d bytes: this model can't read it]", cmp.Or(d.MIMEType, "media"), len(d.Data)))
}

// quirks are limits of this server or model, learned from rejections, not from names.
type quirks struct {
	noStream     bool // OpenAI doesn't stream some models to organizations that it hasn't verified
	noSummary    bool // nor send them summaries of reasoning; models that don't reason reject the parameter
	noEncrypted  bool // models that don't reason have nothing to encrypt
	noCacheKey   bool
	noStore      bool
	noPhase      bool
	noCustom     bool // no tools with a grammar: they are functions
	plainOutputs bool // results of tools can only be text: images follow in a message
}

// errDropped reports that reasoning isn't sent back.
var errDropped = errors.New("the server rejected earlier reasoning, which is removed from the conversation")

// learn reports whether a rejection shows how to change the request.
func (m *Model) learn(f *api.Failure, messages []model.Message) bool {
	if !errors.Is(f.Err, model.ErrRejected) { // with status 400, or in an event
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := strings.ToLower(f.Code + " " + f.Param + " " + f.Message + " " + f.Err.Error())
	has := func(part string) bool { return strings.Contains(text, part) }
	before := m.quirks
	switch {
	case has("encrypted content is not supported") || f.Param == "include":
		m.quirks.noEncrypted = true
	case has("invalid_encrypted_content") || has("encrypted content") || has("required following item") ||
		has("required 'reasoning' item"):
		if !m.drop(messages) {
			return false
		}
		f.Note = errDropped
		return true
	case has("verified to stream"):
		m.quirks.noStream = true
	case has("prompt_cache_key"):
		m.quirks.noCacheKey = true
	case has("reasoning.summary") || has("reasoning summar") || has("'reasoning'"):
		m.quirks.noSummary = true
	case f.Param == "store" || has("'store'"):
		m.quirks.noStore = true
	case has("custom") || has("grammar") || strings.HasPrefix(f.Param, "tools"):
		m.quirks.noCustom = true
	case has(".phase") || has("'phase'"):
		m.quirks.noPhase = true
	case has(".output"):
		m.quirks.plainOutputs = true
	}
	return m.quirks != before
}

// drop marks all reasoning of a conversation as rejected, and reports whether there was any. Later reasoning is sent
// back.
func (m *Model) drop(messages []model.Message) bool {
	return m.rejected.Add(messages, func(s model.Sealed) bool {
		return s.For(Name, m.name) && sealedType(s) == typeReasoning
	})
}
