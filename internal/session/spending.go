package session

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

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
