package slash

import (
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/model"
)

// ContextUsage estimates the parts of the model's context, in tokens.
type ContextUsage struct {
	Model    string // its name; "": none was opened
	Window   int    // context window in tokens
	Reserved int    // tokens of it that stay free: a longer conversation is compacted
	System   int    // without Memory
	Memory   int    // context files
	Builtin  []ToolTokens
	External []ToolTokens
	Messages int
}

// ToolTokens is the size of a tool's declaration.
type ToolTokens struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Estimated returns the sum of all parts.
func (u ContextUsage) Estimated() int {
	total := u.System + u.Memory + u.Messages
	for _, t := range append(u.Builtin[:len(u.Builtin):len(u.Builtin)], u.External...) {
		total += t.Tokens
	}
	return total
}

// UsageOf estimates the context of a session's conversation with these messages.
func UsageOf(s *session.Session, history []model.Message) ContextUsage {
	u := ContextUsage{Builtin: []ToolTokens{}, External: []ToolTokens{}, Model: s.Settings.Model.Name}
	if m, err := s.Models.Current(); err == nil {
		u.Model = m.Name()
	}
	w := s.Models.Window(u.Model)
	u.Window = w.Tokens
	if w.Threshold > 0 && w.Threshold < 1 {
		u.Reserved = w.Tokens - int(float64(w.Tokens)*w.Threshold)
	}
	u.Memory = estimate(s.Definitions.Memory().Text)
	u.System = max(estimate(s.SystemPrompt())-u.Memory, 0)
	for _, d := range s.Executor.Registry.Declarations(nil) {
		t := ToolTokens{d.Name, agent.Tokens(d)}
		if d.Origin == "" {
			u.Builtin = append(u.Builtin, t)
		} else {
			t.Name = discover.LongName(d)
			u.External = append(u.External, t)
		}
	}
	for _, m := range history {
		u.Messages += estimate(messageText(m))
	}
	return u
}

// messageText returns the text of a message, without media.
func messageText(m model.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			b.WriteString(string(p))
		case model.Call:
			b.WriteString(p.Name + string(p.Args))
		case model.Response:
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// estimate returns the number of tokens of a text, at four bytes each.
func estimate(text string) int { return (len(text) + 3) / 4 }
