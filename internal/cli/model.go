package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/tool"
)

// noModel is what a person reads who has not configured a model.
const noModel = `no model is configured. Ways to have one:
  OPENAI_API_KEY=… and OPENAI_MODEL=… (or --model)   OpenAI
  OPENAI_BASE_URL=http://127.0.0.1:11434/v1          Ollama, llama.cpp, LM Studio, vLLM or any other server
                                                     that speaks chat completions; a key is sent only if set.
                                                     The first three are found by themselves at their own ports
Without one, adze demo shows what adze does, and adze tool list its tools.`

// closer is a model that holds connections.
type closer interface {
	model.Model
	Close()
}

// isGrade reports whether a sub-agent's definition names no model but a sort of models, as other programs do ("sonnet",
// "fast"): a single word.
func isGrade(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") == ""
}

// otherModels opens the model that a sub-agent's definition names, at the session's server, once; close ends those that
// were opened.
func (s *session) otherModels(ctx context.Context, env Env) (named func(string) (model.Model, error), close func()) {
	var mu sync.Mutex
	opened := map[string]closer{}
	named = func(name string) (model.Model, error) {
		if isGrade(name) {
			return s.model, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if m, ok := opened[name]; ok {
			return m, nil
		}
		other := *s.settings
		other.Model.Name = name
		m, err := openModel(ctx, env, &other)
		if err != nil {
			return nil, err
		}
		opened[name] = m
		return m, nil
	}
	return named, func() {
		for _, m := range opened {
			m.Close()
		}
	}
}

// openModel chooses the model that flags, settings and environment name.
func openModel(ctx context.Context, env Env, s *settings.Settings) (closer, error) {
	o := openai.Options{
		BaseURL: env.Getenv("OPENAI_BASE_URL"),
		Key:     env.Getenv("OPENAI_API_KEY"),
		Model:   s.Model.Name,
	}
	if o.Model == "" {
		o.Model = env.Getenv("OPENAI_MODEL")
	}
	if o.BaseURL == "" && o.Key == "" {
		var first string
		if o.BaseURL, first = localModel(ctx, env); o.BaseURL == "" {
			return nil, exitf(exitCredentials, noModel)
		}
		o.Model = cmp.Or(o.Model, first)
		fmt.Fprintf(env.Stderr, "adze: no model is configured; using %s at %s\n", tool.Visible(o.Model), o.BaseURL)
	}
	if o.BaseURL == "" && o.Model == "" {
		return nil, exitf(exitCredentials, "OPENAI_API_KEY is set, but no model is named; name one with --model or OPENAI_MODEL")
	}
	return openai.Open(ctx, o)
}
