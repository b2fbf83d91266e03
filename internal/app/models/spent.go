package models

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/adze-dev/adze/internal/app/requestlog"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
)

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

// observed returns a model whose tokens are counted, and whose requests are logged and watched. key is its API key.
func (m *Models) observed(opened connected, where Place, key string) connected {
	if opened == nil {
		return nil
	}
	if m.log != nil {
		opened = &logged{opened, m.log, key}
	}
	return &countedModel{opened, m, where}
}

type countedModel struct {
	connected
	of    *Models
	where Place
}

// Stream counts the tokens of an answer when it has ended.
func (m *countedModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		var used model.Usage
		defer func() { m.of.spent.add(m.Name(), used) }()
		stream := m.connected.Stream(ctx, r)
		if watch := m.of.Watch; watch != nil {
			stream = watch(ctx, m.where, m.connected, r)
		}
		for e, err := range stream {
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
func (m *Models) Spent() []Spent {
	m.spent.mu.Lock()
	defer m.spent.mu.Unlock()
	return slices.Clone(m.spent.models)
}

// Cost returns the cost of this session so far, in US dollars. ok is false if no used model has a price.
func (m *Models) Cost() (dollars float64, ok bool) {
	for _, one := range m.Spent() {
		if p, priced := m.settings.Model.Pricing[one.Model]; priced {
			dollars, ok = dollars+Cost(one.Usage, p), true
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

// Stream logs the request and its answer.
func (m *logged) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return m.log.Stream(ctx, m.connected, r, m.key)
}
