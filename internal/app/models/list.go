package models

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai"
)

// Listed is a model that can be used.
type Listed struct {
	ID            string `json:"id"`
	AuthType      string `json:"authType"`
	BaseURL       string `json:"baseUrl"`
	Source        string `json:"source"`        // settings, server or local
	ContextWindow int    `json:"contextWindow"` // tokens
}

// List returns the models of modelProviders, of the servers that are configured by variables, and of local servers. The
// errors are those of servers that didn't answer.
func (m *Models) List(ctx context.Context) ([]Listed, []error) {
	c := m.chooser()
	var list []Listed
	var errs []error
	for _, p := range c.entryProviders() {
		for _, e := range c.settings.Providers[p.name] {
			list = append(list, m.listed(choice{provider: p, options: api.Options{BaseURL: e.BaseURL}},
				api.Info{ID: e.ID, ContextWindow: e.Config.Window}, "settings"))
		}
	}
	for _, p := range c.allowed {
		if !c.configured(p) || p.open == nil {
			continue
		}
		ch := c.byVariables(p, p.preset)
		infos, err := ch.list(ctx)
		if err != nil {
			errs = append(errs, err)
		}
		for _, i := range infos {
			list = append(list, m.listed(ch, i, "server"))
		}
	}
	if slices.ContainsFunc(c.allowed, func(p provider) bool { return p.name == openai.Name }) {
		for _, s := range localServers(ctx, m.env) {
			for _, i := range s.models {
				list = append(list, m.listed(choice{provider: providers()[0], options: api.Options{BaseURL: s.address}},
					i, "local"))
			}
		}
	}
	return list, errs
}

// listTime bounds a list for completions.
const listTime = 10 * time.Second

// knownModels is a list that is requested once, for all keystrokes of a completion.
type knownModels struct {
	mu     sync.Mutex
	done   chan struct{} // closed when the list is complete; nil: not requested
	cancel context.CancelFunc
	list   []Listed
	ended  bool
}

// Known is List, requested once. An empty list is requested again.
func (m *Models) Known(ctx context.Context) []Listed {
	k := &m.known
	k.mu.Lock()
	if k.done == nil && !k.ended {
		listing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime) // other callers wait for it too
		done := make(chan struct{})
		k.done, k.cancel = done, cancel
		go func() {
			defer close(done)
			defer cancel()
			list, _ := m.List(listing)
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.list = list; len(list) == 0 {
				k.done = nil
			}
		}()
	}
	done := k.done
	k.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list
}

// end cancels a request for the list.
func (k *knownModels) end() {
	k.mu.Lock()
	k.ended = true
	done := k.done
	if done != nil {
		k.cancel()
	}
	k.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (m *Models) listed(c choice, i api.Info, source string) Listed {
	window := cmp.Or(i.ContextWindow, m.ContextWindow(i.ID))
	return Listed{ID: i.ID, AuthType: c.provider.name, BaseURL: c.address(), Source: source, ContextWindow: window}
}

// list requests the server's models.
func (c choice) list(ctx context.Context) ([]api.Info, error) {
	switch {
	case c.provider.at != nil && c.options.Model == "":
		return nil, nil
	case c.provider.at != nil:
		return infos([]string{c.options.Model}), nil
	}
	m, err := c.provider.open(ctx, c.options)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Models(ctx)
}

// localAddresses are where model servers on this machine listen by default, in order of preference: Ollama, llama.cpp,
// LM Studio.
const localAddresses = "http://127.0.0.1:11434/v1,http://127.0.0.1:8080/v1,http://127.0.0.1:1234/v1"

// localWait bounds the request to a server at a default address; namedWait, to one in ADZE_LOCAL_MODELS. If nothing
// listens, connecting fails immediately.
const (
	localWait = 500 * time.Millisecond
	namedWait = 30 * time.Second
)

// localServer is a model server on this machine.
type localServer struct {
	address string
	models  []api.Info
}

// localServers finds model servers on this machine that have a model. ADZE_LOCAL_MODELS names other addresses, or
// "off".
func localServers(ctx context.Context, env project.Env) []localServer {
	addresses, wait := env.Getenv("ADZE_LOCAL_MODELS"), namedWait
	switch addresses {
	case "off":
		return nil
	case "":
		addresses, wait = localAddresses, localWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	list := strings.Split(addresses, ",")
	models := make([]chan []api.Info, len(list))
	for i, a := range list {
		models[i] = make(chan []api.Info, 1)
		go func() { models[i] <- askLocal(ctx, a) }()
	}
	var found []localServer
	for i, a := range list { // waits for all, so that nothing is left running
		if infos := <-models[i]; len(infos) > 0 {
			found = append(found, localServer{a, infos})
		}
	}
	return found
}

// askLocal lists the models of a server on this machine. Other machines are never contacted: they must be set as
// OPENAI_BASE_URL.
func askLocal(ctx context.Context, address string) []api.Info {
	u, err := url.Parse(address)
	if err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		return nil
	}
	m, err := openai.Open(ctx, api.Options{BaseURL: address, Model: "any", Retry: api.Retry{Times: -1}})
	if err != nil {
		return nil
	}
	defer m.Close()
	list, err := m.Models(ctx)
	if err != nil {
		return nil
	}
	return list
}

// Upstream is the server of a model with the data for requests to it. A program that forwards requests keeps the key.
type Upstream struct {
	API     string // as --auth-type
	Options api.Options
	Price   settings.Price
	Priced  bool // modelPricing has the model
}

// Upstream finds the server of a model, or without a name that of the configured model. It requests the server's list
// of models if no name is known.
func (m *Models) Upstream(ctx context.Context, name string) (Upstream, error) {
	found, err := m.find(ctx, cmp.Or(name, m.settings.Model.Name), name != "" || m.settings.Model.ForRun)
	if err != nil {
		return Upstream{}, err
	}
	opened, err := found.open(ctx, func([]api.Info) {})
	if err != nil {
		return Upstream{}, err
	}
	defer opened.Close()
	up := Upstream{API: found.provider.name, Options: found.options}
	up.Options.Model, up.Options.BaseURL = opened.Name(), cmp.Or(found.options.BaseURL, found.provider.baseURL)
	up.Price, up.Priced = m.settings.Model.Pricing[up.Options.Model]
	return up, nil
}

// OpenModel opens a model by its API, with the given options.
func OpenModel(ctx context.Context, name string, o api.Options) (model.Model, error) {
	for _, p := range providers() {
		if p.name == name {
			return p.open(ctx, o)
		}
	}
	return nil, errorf("unknown API %q", name)
}

// defaultWindow is the context window of an unknown model.
const defaultWindow = 128_000

// Window returns the context window of the model of a name, and when conversations are compacted to fit into it.
func (m *Models) Window(name string) agent.Window {
	w := agent.Window{Tokens: m.ContextWindow(name), Threshold: m.settings.Context.CompactAt}
	if other := m.settings.Model.Compaction; other != "" && other != name {
		w.Summary = func(ctx context.Context) (model.Model, error) { return m.other(ctx, other) }
	}
	return w
}

// ContextWindow returns the size of the model's context in tokens: from settings, from its server, or by its name.
func (m *Models) ContextWindow(name string) int {
	return cmp.Or(setWindow(m.settings, name), m.listedWindow(name), familyWindow(name))
}

// setWindow returns the window in settings; 0: none.
func setWindow(set *settings.Settings, name string) int {
	for _, e := range set.Model.Named(name) {
		if e.Config.Window > 0 {
			return e.Config.Window
		}
	}
	return max(set.Model.Window, 0)
}

// familyWindow returns the window of a model by its name.
func familyWindow(name string) int {
	name = "/" + strings.ToLower(name)
	for _, w := range windows {
		if strings.Contains(name, w.part) {
			return w.tokens
		}
	}
	return defaultWindow
}

// learn records the windows that a server lists.
func (m *Models) learn(list []api.Info) {
	m.listing.Lock()
	defer m.listing.Unlock()
	for _, i := range list {
		if i.ContextWindow > 0 {
			if m.windows == nil {
				m.windows = map[string]int{}
			}
			m.windows[i.ID] = i.ContextWindow
		}
	}
}

// listedWindow returns the window of a model as its server listed it; 0: unknown.
func (m *Models) listedWindow(name string) int {
	m.listing.Lock()
	defer m.listing.Unlock()
	return m.windows[name]
}

// windows are the context windows of families of models by a part of /name, as published, special ones first. If a
// server was started with less, model.generationConfig.contextWindowSize sets it.
var windows = []struct {
	part   string
	tokens int
}{
	{"gemini", 1_000_000},
	{"gpt-5", 272_000},
	{"gpt-4.1", 1_000_000},
	{"/o1", 200_000},
	{"/o3", 200_000},
	{"/o4", 200_000},
	{"claude", 200_000},
	{"qwen3-coder-plus", 1_000_000},
	{"qwen3-coder-flash", 1_000_000},
	{"qwen3", 256_000},
	{"glm", 200_000},
}
