package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/responses"
	"github.com/adze-dev/adze/tool"
)

// noModel is the error of a session without a model.
const noModel = `no model configured
Set one of:
  OPENAI_API_KEY      OpenAI
  ANTHROPIC_API_KEY   Anthropic
  GEMINI_API_KEY      Google
  OPENAI_BASE_URL     any OpenAI-compatible server (vLLM, OpenRouter, …)
or start Ollama, llama.cpp or LM Studio on its default port. Try 'adze demo' without a model.`

// choice is a model that can be opened. Without a name in its options, it is the provider's preset.
type choice struct {
	provider provider
	options  api.Options
	key      string // variable that must be set and isn't; "": none
	detected bool   // a local server that was found
}

// chooser selects the model.
type chooser struct {
	settings settings.Model
	vars     variables
	allowed  []provider
}

func newChooser(set settings.Model, vars variables) chooser {
	return chooser{set, vars, allowed(set.AuthType)}
}

// choose finds the model of a name, or without one the configured model. It uses settings and variables only; without a
// match, a local server may have it. named reports whether the user chose the name for this run, or a subagent's
// definition did.
func (c chooser) choose(name string, named bool) (found choice, ok bool, err error) {
	if found, ok, err = c.find(name, named); ok && found.provider.at != nil {
		found.options.Model = cmp.Or(found.options.Model, found.provider.preset)
		found.options, err = found.provider.at(c.vars, found.options)
	}
	return found, ok, err
}

func (c chooser) find(name string, named bool) (found choice, ok bool, err error) {
	var hint *provider
	if !named {
		if p, value := c.namedByVariable(); value != "" {
			name, hint = value, p
		}
	}
	if found, ok := c.entry(name); ok {
		return found, true, nil
	}
	if hint != nil {
		return c.byVariables(*hint, name), true, nil
	}
	configured := slices.DeleteFunc(slices.Clone(c.allowed), func(p provider) bool { return !c.configured(p) })
	for _, p := range configured {
		if p.makes(name) && (c.vars.first(p.keys).value != "" || p.name == vertexName) {
			return c.byVariables(p, name), true, nil
		}
	}
	for _, p := range configured {
		if p.urls[0] == "OPENAI_BASE_URL" && c.vars.get("OPENAI_BASE_URL") != "" {
			return c.byVariables(p, name), true, nil
		}
	}
	switch {
	case len(configured) == 1:
		return c.byVariables(configured[0], name), true, nil
	case len(configured) > 1 && name != "" && configured[0].family == "":
		return c.byVariables(configured[0], name), true, nil // OpenAI's names have many prefixes
	case len(configured) > 1:
		return choice{}, false, c.several(configured, name)
	}
	return c.unconfigured(name)
}

// unconfigured returns the model if no variables are set.
func (c chooser) unconfigured(name string) (found choice, ok bool, err error) {
	if name == "" {
		switch ids := c.ids(); len(ids) {
		case 0:
		case 1:
			found, ok := c.entry(ids[0])
			return found, ok, nil
		default:
			return choice{}, false, errorf("no model is selected\nUse --model with one of: %s.",
				strings.Join(ids, ", "))
		}
	}
	if ids := c.ids(); name != "" && len(ids) > 0 {
		text := fmt.Sprintf("unknown model %q\nmodelProviders has: %s.", name, strings.Join(ids, ", "))
		if near := api.Close(name, infos(ids)); len(near) > 0 {
			text = fmt.Sprintf("unknown model %q\nDid you mean %s? See 'adze models'.", name, strings.Join(near, ", "))
		}
		return choice{}, false, errorf("%s", text)
	}
	if limit := c.settings.AuthType; limit != "" && limit != "openai" {
		return choice{}, false, errorf("no API key for %s\nSet %s.", limit, c.allowed[0].keys[0])
	}
	return choice{}, false, nil
}

// ids returns the models in modelProviders.
func (c chooser) ids() []string {
	var ids []string
	for _, p := range c.entryProviders() {
		for _, e := range c.settings.Providers[p.name] {
			if !slices.Contains(ids, e.ID) {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

func infos(ids []string) []api.Info {
	var out []api.Info
	for _, id := range ids {
		out = append(out, api.Info{ID: id})
	}
	return out
}

// entryProviders returns the APIs whose entries apply.
func (c chooser) entryProviders() []provider {
	if c.settings.AuthType != "" {
		return c.allowed
	}
	return providers()
}

// several returns the error for several keys without a name that selects one.
func (c chooser) several(configured []provider, name string) error {
	var keys []string
	for _, p := range configured {
		keys = append(keys, fmt.Sprintf("%s (%s)", c.vars.first(append(slices.Clone(p.keys), p.urls...)), p.name))
	}
	if name == "" {
		return errorf("several API keys are set, but no model is selected\nUse --model NAME or --auth-type "+
			"TYPE. Set are: %s.", strings.Join(keys, ", "))
	}
	return errorf("several API keys are set, and the name %q selects none of them\nUse --auth-type TYPE. "+
		"Set are: %s.", name, strings.Join(keys, ", "))
}

// configured reports whether variables configure a provider. GOOGLE_API_KEY with GOOGLE_SEARCH_ENGINE_ID is for
// web_search, unless only Gemini is allowed.
func (c chooser) configured(p provider) bool {
	if p.name == vertexName || p.name == gemini.Name && c.usesVertex() {
		return p.name == vertexName && c.usesVertex()
	}
	key := c.vars.first(p.keys)
	if key.name == "GOOGLE_API_KEY" && c.settings.AuthType == "" && c.vars.get("GOOGLE_SEARCH_ENGINE_ID") != "" {
		key.value = ""
	}
	return key.value != "" || c.vars.first(p.urls).value != ""
}

// namedByVariable returns the only provider with a variable that names a model.
func (c chooser) namedByVariable() (*provider, string) {
	var found []provider
	value := ""
	for _, p := range c.allowed {
		if name := c.vars.first(p.models).value; name != "" && c.configured(p) {
			found, value = append(found, p), name
		}
	}
	if len(found) == 1 {
		return &found[0], value
	}
	return nil, ""
}

// entry returns the entry of modelProviders with this name.
func (c chooser) entry(name string) (choice, bool) {
	for _, p := range c.entryProviders() {
		for _, e := range c.settings.Providers[p.name] {
			if name != "" && e.ID == name {
				return c.fromEntry(p, e), true
			}
		}
	}
	return choice{}, false
}

func (c chooser) fromEntry(p provider, e settings.Provider) choice {
	out := choice{provider: p, options: api.Options{
		BaseURL: e.BaseURL, Model: e.ID, URLName: "modelProviders." + p.name, KeyName: e.EnvKey,
		CacheTTL: c.settings.CacheTTL, Headers: e.Config.Headers, Sampling: e.Config.Sampling, Extra: e.Config.Extra,
		FirstByte: time.Duration(e.Config.Timeout) * time.Millisecond,
		NextByte:  time.Duration(e.Config.Timeout) * time.Millisecond,
	}}
	if n := e.Config.MaxRetries; n != nil {
		out.options.Retry = api.Retry{Times: *n, Most: *n}
		if *n <= 0 {
			out.options.Retry = api.Retry{Times: -1}
		}
	}
	names := p.keys
	if e.EnvKey != "" {
		names = []string{e.EnvKey}
	} else if e.BaseURL != "" || len(p.keys) == 0 {
		return out // a key is only sent to the server it is for
	}
	key := c.vars.first(names)
	out.options.Key, out.options.KeyName = key.value, key.String()
	if key.value == "" {
		out.key = key.name
	}
	return out
}

// byVariables returns the model of a provider that is configured by variables.
func (c chooser) byVariables(p provider, name string) choice {
	key, url := c.vars.first(p.keys), c.vars.first(p.urls)
	if name == "" {
		name = c.vars.first(p.models).value
	}
	return choice{provider: p, options: api.Options{
		BaseURL: url.value, Key: key.value, Model: name, KeyName: key.String(), URLName: url.String(),
		CacheTTL: c.settings.CacheTTL,
	}}
}

// where returns the server for [Models.Where]. With a name, nothing was sent to it yet.
func (c choice) where() Place {
	return Place{
		API: c.provider.name, URL: c.address(), Detected: c.detected, Untested: c.options.Model != "" && !c.detected,
	}
}

// open opens the model. Without a name it is the provider's preset if the server has it, or the server's only model.
// listed receives the server's models, if they were requested.
func (c choice) open(ctx context.Context, listed func([]api.Info)) (connected, error) {
	if c.key != "" {
		return nil, errorf("no API key for %s: %s is not set\nSet it in the environment or in ~/.adze/.env.",
			c.options.Model, c.key)
	}
	if c.provider.open == nil {
		return nil, errorf("the API %s is not available in this build", c.provider.name)
	}
	if c.options.Model != "" {
		return c.provider.open(ctx, c.options)
	}
	o := c.options
	o.Model = c.provider.preset
	m, err := c.provider.open(ctx, o)
	if err != nil {
		return nil, err
	}
	list, err := m.Models(ctx)
	listed(list)
	if err == nil && !has(list, o.Model) {
		m.Close()
		switch {
		case len(list) == 1 && o.BaseURL != "":
			o.Model = list[0].ID
			return c.provider.open(ctx, o)
		case len(list) == 0:
			return nil, errorf("no models at %s\nLoad a model in the server, or set %s.", c.address(),
				c.provider.models[0])
		}
		return nil, errorf("no model is selected, and the default %s is not available at %s\nUse --model "+
			"with one of: %s.",
			o.Model, c.address(), tool.Visible(api.Names(list)))
	}
	if err != nil {
		m.Close()
		if errors.Is(err, model.ErrRejected) || errors.Is(err, model.ErrWire) {
			return nil, errorf("no model is selected, and %s has no list of models\nUse --model NAME. The "+
				"server answered: %v", c.address(), err)
		}
		return nil, err
	}
	return m, nil
}

// address returns the server's address, without credentials.
func (c choice) address() string {
	if c.options.BaseURL == "" {
		return c.provider.baseURL
	}
	u, err := url.Parse(c.options.BaseURL)
	if err != nil {
		return "an invalid URL"
	}
	u.User, u.RawQuery = nil, ""
	return strings.TrimRight(u.String(), "/")
}

// has reports whether a list contains a model, by its name or with a date suffix.
func has(list []api.Info, name string) bool {
	return slices.ContainsFunc(list, func(i api.Info) bool {
		return i.ID == name ||
			strings.HasPrefix(i.ID, name+"-20")
	})
}

// WithoutKeys returns an environment for programs that Adze starts, without the variables that modelProviders name for
// keys, and without more; nil: that of this process.
func WithoutKeys(environ []string, set settings.Model, more ...string) []string {
	keys := map[string]bool{}
	for _, name := range more {
		keys[name] = true
	}
	for _, list := range set.Providers {
		for _, e := range list {
			keys[e.EnvKey] = e.EnvKey != ""
		}
	}
	if len(keys) == 0 {
		return environ
	}
	if environ == nil {
		environ = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return keys[name]
	})
}

// connected is a model with its server.
type connected interface {
	model.Model
	Models(context.Context) ([]api.Info, error)
	Close()
}

// provider is a model API.
type provider struct {
	name    string   // as in --auth-type, security.auth.selectedType and modelProviders
	keys    []string // variables, the strongest first
	urls    []string
	models  []string
	family  string // prefix of its models' names; "": unknown
	preset  string // the default model
	baseURL string
	open    func(context.Context, api.Options) (connected, error)
	// at returns the options with the address and the login of a cloud, which doesn't list what can be used; nil: none.
	at func(variables, api.Options) (api.Options, error)
}

// providers returns the table of APIs.
func providers() []provider {
	return []provider{
		{
			name: "openai", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"},
			models: []string{"OPENAI_MODEL"},
			preset: "gpt-5.5", baseURL: openai.DefaultBaseURL, open: opener(openai.Open),
		},
		{
			name: "openai-responses", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"},
			models: []string{"OPENAI_MODEL"},
			preset: "gpt-5.5", baseURL: responses.DefaultBaseURL, open: opener(responses.Open),
		},
		{
			name: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, urls: []string{"ANTHROPIC_BASE_URL"},
			models: []string{"ANTHROPIC_MODEL"},
			family: "claude", preset: "claude-opus-4-7", baseURL: anthropic.DefaultBaseURL,
			open: opener(anthropic.Open),
		},
		{
			name: "gemini", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			urls:   []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
			models: []string{"GEMINI_MODEL"}, family: "gemini", preset: "gemini-2.5-pro",
			baseURL: gemini.DefaultBaseURL,
			open:    opener(gemini.Open),
		},
		{
			name: "azure-openai", keys: []string{"AZURE_OPENAI_API_KEY"}, urls: []string{"AZURE_OPENAI_ENDPOINT"},
			models:  []string{"AZURE_OPENAI_DEPLOYMENT"},
			baseURL: "https://openai.azure.com", open: opener(openai.Open), at: azure,
		},
		{
			name: vertexName, urls: []string{"GOOGLE_VERTEX_BASE_URL"}, models: []string{"GEMINI_MODEL"},
			family: "gemini", preset: "gemini-2.5-pro", baseURL: "https://aiplatform.googleapis.com",
			open: opener(gemini.Open), at: vertex,
		},
	}
}

// opener adapts the function of an adapter to the table.
func opener[M connected](
	open func(context.Context, api.Options) (M, error),
) func(context.Context, api.Options) (connected, error) {
	return func(ctx context.Context, o api.Options) (connected, error) {
		m, err := open(ctx, o)
		if err != nil {
			return nil, err // not a typed nil
		}
		return m, nil
	}
}

// allowed returns the providers of an API, or all of them. Without a limit, variables that two of them share belong to
// the first.
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

// errorf returns an error about the choice of a model.
func errorf(format string, args ...any) error {
	return project.Errorf(project.ErrModel, format, args...)
}
