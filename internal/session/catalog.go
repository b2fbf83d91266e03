package session

import (
	"context"
	"regexp"
	"slices"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/settings"
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
	return max(1, windowOf(o.settings, model)*min(max(search.Threshold, 0), 100)/100)
}

// windowOf is how many tokens the model's context has: what settings say, or what is known of its name.
func windowOf(set *settings.Settings, model string) int {
	for _, p := range providers() {
		for _, e := range set.Model.Providers[p.name] {
			if e.ID == model && e.Config.Window > 0 {
				return e.Config.Window
			}
		}
	}
	if n := set.Model.Window; n > 0 {
		return n
	}
	for _, w := range windows() {
		if w.name.MatchString(model) {
			return w.tokens
		}
	}
	return 128_000
}

type window struct {
	name   *regexp.Regexp
	tokens int
}

// windows are the context windows of families of models, as their makers give them, special ones first. A server may
// have been started with less: then model.generationConfig.contextWindowSize says so.
func windows() []window {
	var all []window
	for _, w := range []struct {
		name   string
		tokens int
	}{
		{`gemini`, 1_000_000},
		{`gpt-5`, 272_000},
		{`gpt-4\.1`, 1_000_000},
		{`(^|/)o[134]`, 200_000},
		{`claude`, 200_000},
		{`qwen3-coder-(plus|flash)`, 1_000_000},
		{`qwen3`, 256_000},
		{`glm`, 200_000},
	} {
		all = append(all, window{regexp.MustCompile(`(?i)` + w.name), w.tokens})
	}
	return all
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
