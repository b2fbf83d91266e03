package models

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// A session that lets servers ask its model, and never opened one, answered them with a nil pointer. The command line
// opens it before any call; another front end may not.
func TestSamplingBeforeThereIsAModel(t *testing.T) {
	question := discover.Sampling{Messages: []discover.SamplingMessage{{Role: "user", Content: tool.Text("hello")}}}
	_, err := (&Models{}).Sample(t.Context(), question)
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
	m := &Models{main: opening{connected: s}}
	budget := &agent.Budget{Tokens: 150}
	m.Count(budget)
	for range 2 {
		if got, err := m.Sample(t.Context(), question); err != nil || got.Text != "hi" {
			t.Fatal(got, err)
		}
	}
	if _, err := m.Sample(t.Context(), question); !errors.Is(err, agent.ErrTokenLimit) || s.asked != 2 {
		t.Errorf("%v after %d requests", err, s.asked)
	}
	if _, used := budget.Spent(); used.Total() != 200 {
		t.Errorf("used %d", used.Total())
	}
}

// Completions of /model request the list once: each key used to request it, and canceled the request of the key before.
func TestModelsAreListedOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			requests.Add(1)
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
	}))
	defer server.Close()
	m := &Models{opened: map[string]opening{}, settings: &settings.Settings{}, env: project.Env{Getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "k", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	key, cancel := context.WithCancel(t.Context())
	cancel() // the next key was pressed
	if got := m.Known(key); got != nil {
		t.Errorf("of a key that is of no interest anymore: %v", got)
	}
	close(answer)
	for range 3 {
		if got := m.Known(t.Context()); len(got) != 2 {
			t.Errorf("%v", got)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	m.Close()
}

// A request for the list ends with the session.
func TestModelListEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	m := &Models{opened: map[string]opening{}, settings: &settings.Settings{}, env: project.Env{Getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "k", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	key, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	m.Known(key)
	m.Close()
	if got := m.Known(t.Context()); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
}

// A server that ADZE_LOCAL_MODELS names used to be ignored on a busy machine, where it took more than half a second.
func TestNamedLocalModelMayBeSlow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(localWait + 100*time.Millisecond) // not synchronization: a slow server
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"list","data":[{"id":"small-one","object":"model"}]}`)
	}))
	defer server.Close()
	env := project.Env{Getenv: func(name string) string { return map[string]string{"ADZE_LOCAL_MODELS": server.URL + "/v1"}[name] }}
	found := localServers(t.Context(), env)
	if len(found) != 1 || found[0].address != server.URL+"/v1" || found[0].models[0].ID != "small-one" {
		t.Errorf("found %+v", found)
	}
}

// The window of a model is what settings say, then what its server listed, then what its name suggests.
func TestWindow(t *testing.T) {
	provider := settings.Provider{ID: "claude-own"}
	provider.Config.Window = 5_000
	for _, tt := range []struct {
		name   string
		set    int
		listed int
		want   int
	}{
		{"nobody-knows", 0, 0, 128_000},
		{"claude-x", 0, 0, 200_000},
		{"claude-x", 0, 4_000, 4_000},
		{"claude-x", 9_000, 4_000, 9_000},
		{"claude-x", -1, 0, 200_000},
		{"claude-own", 9_000, 4_000, 5_000},
	} {
		m := &Models{opened: map[string]opening{}, settings: &settings.Settings{Model: settings.Model{
			Window: tt.set, Providers: map[string][]settings.Provider{"openai": {provider}},
		}}}
		m.learn([]api.Info{{ID: tt.name, ContextWindow: tt.listed}, {ID: "other", ContextWindow: 1}})
		if got := m.ContextWindow(tt.name); got != tt.want {
			t.Errorf("%s, set %d, listed %d: %d, want %d", tt.name, tt.set, tt.listed, got, tt.want)
		}
	}
}
