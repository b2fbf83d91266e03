package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/tool"
)

// noModel is the error of a session without a model.
const noModel = `no model configured
Set one of:
  OPENAI_API_KEY and OPENAI_MODEL   OpenAI
  OPENAI_BASE_URL                   any OpenAI-compatible server (vLLM, OpenRouter, …)
or start Ollama, llama.cpp or LM Studio on its default port. Try 'adze demo' without a model.`

// closer is a model that holds connections.
type closer interface {
	model.Model
	Close()
}

// IsGrade reports whether a subagent's definition names no model but a sort of models, as other programs do ("sonnet",
// "fast"): a single word.
func IsGrade(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") == ""
}

// Models are the models of a session: the one that is configured, and those that subagents name. There are none until
// they are opened.
type Models struct {
	env      Env
	settings *settings.Settings

	mu     sync.Mutex
	main   closer
	where  string // the main model's server
	others map[string]closer
}

// Open opens the model that flags, settings and environment name, once.
func (m *Models) Open(ctx context.Context) (model.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.main != nil {
		return m.main, nil
	}
	opened, where, err := openModel(ctx, m.env, m.settings.Model.Name)
	if err != nil {
		return nil, err
	}
	m.main, m.where = opened, where
	return opened, nil
}

// Where is the URL of the configured model's server, without credentials, and how Adze knows it: "URL", "URL, auto-detected"
// or, if nothing was sent to it, "URL, not tested". It is empty before Open.
func (m *Models) Where() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.where
}

// current is the configured model, where it was opened.
func (m *Models) current() (model.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.main == nil {
		return nil, errors.New("no model in this session")
	}
	return m.main, nil
}

// named opens the model that a subagent's definition names, at the session's server, once.
func (m *Models) named(ctx context.Context, name string) (model.Model, error) {
	if IsGrade(name) {
		return m.current()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if other, ok := m.others[name]; ok {
		return other, nil
	}
	opened, _, err := openModel(ctx, m.env, name)
	if err != nil {
		return nil, err
	}
	if m.others == nil {
		m.others = map[string]closer{}
	}
	m.others[name] = opened
	return opened, nil
}

// forCrew are the models that subagents may name, where the session's own leads; nil: all use the leader's.
func (m *Models) forCrew(ctx context.Context, leader model.Model) func(name string) (model.Model, error) {
	if own, err := m.current(); err != nil || own != leader {
		return nil
	}
	return func(name string) (model.Model, error) { return m.named(ctx, name) }
}

func (m *Models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.others {
		other.Close()
	}
	if m.main != nil {
		m.main.Close()
	}
}

// openModel opens a model by its name, or the one that the environment names, and returns its server for [Models.Where].
func openModel(ctx context.Context, env Env, name string) (closer, string, error) {
	o := openai.Options{
		BaseURL: env.Getenv("OPENAI_BASE_URL"),
		Key:     env.Getenv("OPENAI_API_KEY"),
		Model:   cmp.Or(name, env.Getenv("OPENAI_MODEL")),
	}
	how := ""
	if o.BaseURL == "" && o.Key == "" {
		var first string
		if o.BaseURL, first = localModel(ctx, env); o.BaseURL == "" {
			return nil, "", errorf(ErrModel, noModel)
		}
		o.Model = cmp.Or(o.Model, first)
		env.tell(fmt.Sprintf("using %s at %s (auto-detected)", tool.Visible(o.Model), o.BaseURL))
		how = ", auto-detected"
	}
	if o.BaseURL == "" && o.Model == "" {
		return nil, "", errorf(ErrModel, "OPENAI_API_KEY is set, but no model is selected\nSet OPENAI_MODEL or use --model.")
	}
	if how == "" && o.Model != "" {
		how = ", not tested"
	}
	m, err := openai.Open(ctx, o)
	if err != nil {
		return nil, "", err
	}
	where := ""
	if u, err := url.Parse(cmp.Or(o.BaseURL, openai.DefaultBaseURL)); err == nil {
		u.User, u.RawQuery = nil, ""
		where = u.String() + how
	}
	return m, where, nil
}
