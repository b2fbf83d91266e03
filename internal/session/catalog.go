package session

import (
	"context"
	"slices"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

// newCatalog is the catalog for external tools.
func (o *Outside) newCatalog(model string) *agent.Catalog {
	return &agent.Catalog{Finder: builtin.ToolSearch, Most: o.Budget(model)}
}

// Budget is how many tokens the declarations of external tools may take, by the settings and the context window of
// the model of that name, before the model must look for them; 0: any number.
func (o *Outside) Budget(model string) int {
	search := o.settings.Tools.Search
	if !search.Enabled {
		return 0
	}
	// A threshold of nothing still lets a catalog be: everything is over it.
	return max(1, o.models.window(model)*min(max(search.Threshold, 0), 100)/100)
}

// findTools finds external tools and declares them to the agent that asked.
func (s *Session) findTools(ctx context.Context, c tool.Call, query string, most int) []tool.Declaration {
	s.Outside.Settle(ctx)
	if s.talk == nil { // tools are declared to no model; a user may search for them
		all := slices.DeleteFunc(s.Executor.Registry.All(), func(d tool.Declaration) bool { return d.Origin == "" })
		return discover.Rank(query, all, most)
	}
	found := discover.Rank(query, s.talk.catalog.Tools(c.By), most)
	for _, d := range found {
		s.talk.catalog.Reveal(c.By, d.Name)
	}
	return found
}
