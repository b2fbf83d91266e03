package session

import (
	"context"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/responses"
)

// connected is a model with its server.
type connected interface {
	model.Model
	Models(context.Context) ([]api.Info, error)
	Close()
}

// provider is an API that models are reached by.
type provider struct {
	name    string   // as --auth-type, security.auth.selectedType and modelProviders have it
	keys    []string // variables, the strongest first
	urls    []string
	models  []string
	family  string // how the names of its models begin; "": not known by name
	preset  string // the model of a user who names none
	baseURL string
	open    func(context.Context, api.Options) (connected, error)
}

// providers is the one table of APIs.
func providers() []provider {
	return []provider{
		{
			name: "openai", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"}, models: []string{"OPENAI_MODEL"},
			preset: "gpt-5.5", baseURL: openai.DefaultBaseURL, open: opener(openai.Open),
		},
		{
			name: "openai-responses", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"}, models: []string{"OPENAI_MODEL"},
			preset: "gpt-5.5", baseURL: responses.DefaultBaseURL, open: opener(responses.Open),
		},
		{
			name: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, urls: []string{"ANTHROPIC_BASE_URL"}, models: []string{"ANTHROPIC_MODEL"},
			family: "claude", preset: "claude-opus-4-7", baseURL: anthropic.DefaultBaseURL, open: opener(anthropic.Open),
		},
		{
			name: "gemini", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, urls: []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
			models: []string{"GEMINI_MODEL"}, family: "gemini", preset: "gemini-2.5-pro", baseURL: gemini.DefaultBaseURL,
			open: opener(gemini.Open),
		},
	}
}

// opener makes the function of an adapter fit the table.
func opener[M connected](open func(context.Context, api.Options) (M, error)) func(context.Context, api.Options) (connected, error) {
	return func(ctx context.Context, o api.Options) (connected, error) {
		m, err := open(ctx, o)
		if err != nil {
			return nil, err // not a nil of type M
		}
		return m, nil
	}
}

// allowed are the providers of an API, or all of them. Without a limit, the variables that two of them share mean the first.
func allowed(limit string) []provider {
	return slices.DeleteFunc(providers(), func(p provider) bool {
		if limit == "" {
			return p.name == "openai-responses"
		}
		return p.name != limit
	})
}

// makes reports whether a model's name is one of the provider's.
func (p provider) makes(name string) bool {
	return p.family != "" && strings.HasPrefix(strings.ToLower(name), p.family)
}
