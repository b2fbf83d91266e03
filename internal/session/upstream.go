package session

import (
	"cmp"
	"context"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai"
)

// Upstream is the server of a model and what requests to it need. A program that forwards requests keeps the key.
type Upstream struct {
	API     string // as --auth-type
	Options api.Options
	Price   settings.Price
	Priced  bool // modelPricing has the model
}

// Upstream finds the server of a model, or without a name that of the configured model. It asks the server for its models if
// no name is known.
func (m *Models) Upstream(ctx context.Context, name string) (Upstream, error) {
	found, ok, err := m.chooser().choose(cmp.Or(name, m.settings.Model.Name), name != "" || m.settings.Model.ForRun)
	if err != nil {
		return Upstream{}, err
	}
	var up Upstream
	switch {
	case ok:
		opened, err := found.open(ctx, func([]api.Info) {})
		if err != nil {
			return Upstream{}, err
		}
		up = Upstream{API: found.provider.name, Options: found.options}
		up.Options.Model, up.Options.BaseURL = opened.Name(), cmp.Or(found.options.BaseURL, found.provider.baseURL)
		opened.Close()
	default:
		local := localServers(ctx, m.env)
		if len(local) == 0 {
			return Upstream{}, errorf(ErrModel, noModel)
		}
		up = Upstream{API: openai.Name, Options: api.Options{BaseURL: local[0].address, Model: cmp.Or(name, local[0].models[0].ID)}}
	}
	up.Price, up.Priced = m.settings.Model.Pricing[up.Options.Model]
	return up, nil
}

// OpenModel opens a model by its API, with options that a program chose.
func OpenModel(ctx context.Context, name string, o api.Options) (model.Model, error) {
	for _, p := range providers() {
		if p.name == name {
			return p.open(ctx, o)
		}
	}
	return nil, errorf(ErrModel, "unknown API %q", name)
}
