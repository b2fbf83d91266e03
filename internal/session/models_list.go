package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai"
)

// ListedModel is a model that can be used.
type ListedModel struct {
	ID            string `json:"id"`
	AuthType      string `json:"authType"`
	BaseURL       string `json:"baseUrl"`
	Source        string `json:"source"`        // settings, server or local
	ContextWindow int    `json:"contextWindow"` // tokens
}

// List returns the models of modelProviders, of the servers that variables configure, and of local servers. The errors are
// those of servers without an answer.
func (m *Models) List(ctx context.Context) ([]ListedModel, []error) {
	c := m.chooser()
	var list []ListedModel
	var errs []error
	for _, p := range c.entryProviders() {
		for _, e := range c.settings.Providers[p.name] {
			list = append(list, m.listed(choice{provider: p, options: api.Options{BaseURL: e.BaseURL}}, api.Info{ID: e.ID, ContextWindow: e.Config.Window}, "settings"))
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
				list = append(list, m.listed(choice{provider: providers()[0], options: api.Options{BaseURL: s.address}}, i, "local"))
			}
		}
	}
	return list, errs
}

// listTime is how long a list for completions may take.
const listTime = 10 * time.Second

// knownModels is a list that is requested once, for all keys of a completion.
type knownModels struct {
	mu     sync.Mutex
	done   chan struct{} // closed when the list is there; nil: none is requested
	cancel context.CancelFunc
	list   []ListedModel
	ended  bool
}

// Known is List, requested once. A list without models is requested again.
func (m *Models) Known(ctx context.Context) []ListedModel {
	k := &m.known
	k.mu.Lock()
	if k.done == nil && !k.ended {
		listing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime) // other keys wait for it too
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

// end stops a request for the list.
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

func (m *Models) listed(c choice, i api.Info, source string) ListedModel {
	window := cmp.Or(i.ContextWindow, m.window(i.ID))
	return ListedModel{ID: i.ID, AuthType: c.provider.name, BaseURL: c.address(), Source: source, ContextWindow: window}
}

// list requests the server's models.
func (c choice) list(ctx context.Context) ([]api.Info, error) {
	m, err := c.provider.open(ctx, c.options)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Models(ctx)
}
