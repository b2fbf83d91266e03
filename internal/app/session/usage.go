package session

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/requestlog"
	"github.com/adze-dev/adze/internal/app/settings"
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

// ContextUsage estimates the context of a conversation, or with nil of a new one.
func (s *Session) ContextUsage(c *Conversation) ContextUsage {
	u := ContextUsage{Builtin: []ToolTokens{}, External: []ToolTokens{}, Model: s.Settings.Model.Name}
	if m, err := s.Models.current(); err == nil {
		u.Model = m.Name()
	}
	w := s.window(u.Model)
	u.Window = w.Tokens
	if w.Threshold > 0 && w.Threshold < 1 {
		u.Reserved = w.Tokens - int(float64(w.Tokens)*w.Threshold)
	}
	u.Memory = estimate(s.Definitions.Memory().Text)
	u.System = max(estimate(s.system())-u.Memory, 0)
	for _, d := range s.Executor.Registry.Declarations(nil) {
		t := ToolTokens{d.Name, agent.Tokens(d)}
		if d.Origin == "" {
			u.Builtin = append(u.Builtin, t)
		} else {
			u.External = append(u.External, t)
		}
	}
	if c != nil {
		for _, m := range c.History() {
			u.Messages += estimate(messageText(m))
		}
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

// Spent is the usage of a model in this session, by all agents including summaries.
type Spent struct {
	Model    string
	Requests int
	Usage    model.Usage
}

// spending counts the tokens of models.
type spending struct {
	mu     sync.Mutex
	models []Spent
}

func (s *spending) add(name string, u model.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.models, func(m Spent) bool { return m.Model == name })
	if i < 0 {
		s.models = append(s.models, Spent{Model: name})
		i = len(s.models) - 1
	}
	s.models[i].Requests++
	s.models[i].Usage = s.models[i].Usage.Plus(u)
}

// of returns a model that counts its tokens.
func (s *spending) of(m connected) connected {
	if m == nil {
		return nil
	}
	return &countedModel{m, s}
}

type countedModel struct {
	connected
	to *spending
}

// Stream counts the tokens of an answer when it has ended.
func (m *countedModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		var used model.Usage
		defer func() { m.to.add(m.Name(), used) }()
		for e, err := range m.connected.Stream(ctx, r) {
			if u, ok := e.(model.Usage); ok {
				used = u
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Spent returns the usage of this session, by model in the order of their first request.
func (s *Session) Spent() []Spent {
	s.Models.spent.mu.Lock()
	defer s.Models.spent.mu.Unlock()
	return slices.Clone(s.Models.spent.models)
}

// Cost returns the cost of this session so far, in US dollars. ok is false if no used model has a price.
func (s *Session) Cost() (dollars float64, ok bool) {
	for _, m := range s.Spent() {
		if p, priced := s.Settings.Model.Pricing[m.Model]; priced {
			dollars, ok = dollars+Cost(m.Usage, p), true
		}
	}
	return dollars, ok
}

// Cost returns the cost of tokens, in US dollars.
func Cost(u model.Usage, p settings.Price) float64 {
	fresh := max(u.Input-u.CacheRead-u.CacheCreation, 0)
	sum := float64(fresh)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheCreation)*p.CacheWrite +
		float64(u.Output)*p.Output
	return math.Round(sum*1e3) / 1e9
}

// logged is a model whose requests and answers are logged. key is its API key.
type logged struct {
	connected
	log *requestlog.Log
	key string
}

func logging(log *requestlog.Log, m connected, key string) connected {
	if log == nil || m == nil {
		return m
	}
	return &logged{m, log, key}
}

// Stream logs the request and its answer.
func (m *logged) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return m.log.Stream(ctx, m.connected, r, m.key)
}
