package session

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// A session that lets servers ask its model, and never opened one, answered them with a nil pointer. The command line
// opens it before any call; another front end may not.
func TestSamplingBeforeThereIsAModel(t *testing.T) {
	question := discover.Sampling{Messages: []discover.SamplingMessage{{Role: "user", Content: tool.Text("hello")}}}
	_, err := (&Models{}).sample(t.Context(), question)
	if err == nil || err.Error() != "no model in this session" {
		t.Errorf("got %v", err)
	}
}

// spender is a model whose answers cost tokens.
type spender struct{ asked int }

func (*spender) Name() string { return "spender" }
func (*spender) Close()       {}
func (*spender) Models(context.Context) ([]api.Info, error) {
	return nil, nil
}

func (s *spender) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	s.asked++
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Text("hi"), nil) && yield(model.Usage{Input: 60, Output: 40}, nil) && yield(model.End{Reason: model.Stop}, nil)
	}
}

// The tokens of sampling count, and without any left no request is sent.
func TestSamplingSpends(t *testing.T) {
	question := discover.Sampling{Messages: []discover.SamplingMessage{{Role: "user", Content: tool.Text("hello")}}}
	s := &spender{}
	m := &Models{main: s}
	budget := &agent.Budget{Tokens: 150}
	m.count(budget)
	for range 2 {
		if got, err := m.sample(t.Context(), question); err != nil || got.Text != "hi" {
			t.Fatal(got, err)
		}
	}
	if _, err := m.sample(t.Context(), question); !errors.Is(err, agent.ErrTokenLimit) || s.asked != 2 {
		t.Errorf("%v after %d requests", err, s.asked)
	}
	if _, used := budget.Spent(); used.Total() != 200 {
		t.Errorf("used %d", used.Total())
	}
}
