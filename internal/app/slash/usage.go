package slash

import (
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
	u.Memory = agent.TextTokens(s.Definitions.Memory().Text)
	u.System = max(agent.TextTokens(s.SystemPrompt())-u.Memory, 0)
	for _, d := range s.Executor.Registry.Declarations(nil) {
		t := ToolTokens{d.Name, agent.Tokens(d)}
		if d.Origin == "" {
			u.Builtin = append(u.Builtin, t)
		} else {
			t.Name = discover.LongName(d)
			u.External = append(u.External, t)
		}
	}
	u.Messages = agent.EstimateTokens(history)
	return u
}
