package session

import (
	"cmp"
	"context"
	"slices"

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
