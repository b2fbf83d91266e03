package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// ContextUsage estimates what takes up the model's context, in tokens.
type ContextUsage struct {
	Model    string // its name; "": none was opened
	Window   int    // how many tokens fit
	Reserved int    // of these, how many stay free: a longer conversation is compacted
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

// Estimated is the sum.
func (u ContextUsage) Estimated() int {
	total := u.System + u.Memory + u.Messages
	for _, t := range append(u.Builtin[:len(u.Builtin):len(u.Builtin)], u.External...) {
		total += t.Tokens
	}
	return total
}

// ContextUsage looks at a conversation, or with nil at one that would begin now.
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

// messageText is what a message consists of, without media.
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

// estimate is how many tokens a text has: four bytes each.
func estimate(text string) int { return (len(text) + 3) / 4 }

// Spent is what a model was used for in this session, by all agents and for summaries too.
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

// of is a model whose tokens are counted.
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

// Stream counts the tokens of an answer when it has ended, in whatever way.
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

// Spent is what this session used, by model in the order of their first request.
func (s *Session) Spent() []Spent {
	s.Models.spent.mu.Lock()
	defer s.Models.spent.mu.Unlock()
	return slices.Clone(s.Models.spent.models)
}

// Cost is what this session cost so far, in US dollars. ok is false if no model that was used has a price.
func (s *Session) Cost() (dollars float64, ok bool) {
	for _, m := range s.Spent() {
		if p, priced := s.Settings.Model.Pricing[m.Model]; priced {
			dollars, ok = dollars+Cost(m.Usage, p), true
		}
	}
	return dollars, ok
}

// Cost is what tokens cost, in US dollars.
func Cost(u model.Usage, p settings.Price) float64 {
	fresh := max(u.Input-u.CacheRead-u.CacheCreation, 0)
	sum := float64(fresh)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheCreation)*p.CacheWrite + float64(u.Output)*p.Output
	return math.Round(sum*1e3) / 1e9
}

func slashCost(_ context.Context, s *Session, _ string) (Expansion, error) {
	all := s.Spent()
	if len(all) == 0 {
		return Expansion{Print: "No requests to a model in this session."}, nil
	}
	var b strings.Builder
	b.WriteString("| model | requests | input | cached | output | cost |\n|---|--:|--:|--:|--:|--:|\n")
	total, priced := 0.0, 0
	for _, m := range all {
		price := "–"
		if p, ok := s.Settings.Model.Pricing[m.Model]; ok {
			c := Cost(m.Usage, p)
			total += c
			priced++
			price = fmt.Sprintf("$%.4f", c)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", inCell(m.Model), m.Requests, m.Usage.Input, m.Usage.CacheRead, m.Usage.Output, price)
	}
	switch {
	case priced == 0:
		b.WriteString("\nThe setting `modelPricing` has no prices for these models.")
	case len(all) > 1:
		fmt.Fprintf(&b, "\nTotal: $%.4f.", total)
	}
	return Expansion{Print: b.String(), Markdown: true}, nil
}

// inCell is a text for a cell of a Markdown table.
func inCell(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "*", `\*`, "_", `\_`).Replace(tool.Visible(s))
}

// requestLog writes requests to models and their answers as JSON Lines, without API keys. nil writes nothing.
type requestLog struct {
	warn func(format string, args ...any)

	mu     sync.Mutex
	w      io.Writer
	last   int // number of the last request
	failed bool
}

func newLog(w io.Writer, warn func(format string, args ...any)) *requestLog {
	if w == nil {
		return nil
	}
	return &requestLog{w: w, warn: warn}
}

// of is a model whose requests and answers are logged. key is its API key, which servers may repeat in errors.
func (l *requestLog) of(m connected, key string) connected {
	if l == nil || m == nil {
		return m
	}
	return &logged{m, l, key}
}

type logged struct {
	connected
	log *requestLog
	key string
}

type loggedRequest struct {
	Time      time.Time       `json:"time"`
	Type      string          `json:"type"`
	ID        int             `json:"id"`
	Model     string          `json:"model"`
	System    string          `json:"system,omitempty"`
	Messages  []model.Message `json:"messages"`
	Tools     []loggedTool    `json:"tools,omitempty"`
	MaxTokens int             `json:"max_tokens,omitempty"`
	Effort    string          `json:"effort,omitempty"`
}

type loggedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type loggedAnswer struct {
	Time     time.Time     `json:"time"`
	Type     string        `json:"type"`
	ID       int           `json:"id"`
	Model    string        `json:"model"`
	Duration int64         `json:"duration_ms"`
	Message  model.Message `json:"message"`
	Usage    loggedUsage   `json:"usage"`
	Reason   string        `json:"reason,omitempty"`
	Retries  int           `json:"retries,omitempty"`
	Error    string        `json:"error,omitempty"`
}

type loggedUsage struct {
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens,omitempty"`
	CacheCreation int `json:"cache_creation_input_tokens,omitempty"`
}

// Stream logs the request, passes the answer on and logs it when it has ended, in whatever way.
func (m *logged) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		start := time.Now()
		id := m.log.next()
		request := loggedRequest{Time: start.UTC(), Type: "request", ID: id, Model: m.Name(), System: r.System, Messages: r.Messages, MaxTokens: r.MaxTokens, Effort: r.Effort}
		for _, d := range r.Tools {
			request.Tools = append(request.Tools, loggedTool{d.Name, d.Description, d.Parameters})
		}
		m.log.write(request, m.key)
		answer := loggedAnswer{Type: "answer", ID: id, Model: m.Name(), Message: model.Message{Role: model.Assistant}}
		defer func() {
			answer.Time, answer.Duration = time.Now().UTC(), time.Since(start).Milliseconds()
			m.log.write(answer, m.key)
		}()
		for e, err := range m.connected.Stream(ctx, r) {
			answer.add(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

// add takes a piece of the answer.
func (a *loggedAnswer) add(e model.Event, err error) {
	if err != nil {
		a.Error = err.Error()
		return
	}
	parts := a.Message.Parts
	n := len(parts) - 1
	switch e := e.(type) {
	case model.Text:
		if last, ok := lastPart(parts).(model.Text); ok {
			parts[n] = last + e
			return
		}
		a.Message.Parts = append(parts, e)
	case model.Thought:
		if last, ok := lastPart(parts).(model.Thought); ok {
			parts[n] = last + e
			return
		}
		a.Message.Parts = append(parts, e)
	case model.Sealed:
		a.Message.Parts = append(parts, e)
	case model.Call:
		a.Message.Parts = append(parts, e)
	case model.Usage:
		a.Usage = loggedUsage{e.Input, e.Output, e.CacheRead, e.CacheCreation}
	case model.Retry:
		a.Retries++
	case model.End:
		a.Reason = string(e.Reason)
	}
}

func lastPart(parts []model.Part) model.Part {
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1]
}

func (l *requestLog) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// minKey is the length of the shortest API key that is looked for: placeholders such as "none" are words of other texts.
const minKey = 8

// write writes one line. A log that can't be written stops nothing.
func (l *requestLog) write(line any, key string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(line)
	text := b.Bytes()
	if len(key) >= minKey {
		text = bytes.ReplaceAll(text, []byte(key), []byte("[API key]"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.w.Write(text)
	}
	if err != nil && !l.failed {
		l.failed = true
		l.warn("write the request log: %v", err)
	}
}
