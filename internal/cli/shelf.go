package cli

import (
	"context"
	"regexp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

// newShelf is the shelf for tools from outside, by the settings and the model's context window.
func (s *session) newShelf(name string) *agent.Shelf {
	search := s.settings.Tools.Search
	shelf := &agent.Shelf{Finder: builtin.ToolSearch}
	if search.Enabled {
		// A threshold of nothing still lets a shelf be: everything is over it.
		shelf.Most = max(1, s.window(name)*min(max(search.Threshold, 0), 100)/100)
	}
	return shelf
}

// window is how many tokens the model's context has: what settings say, or what is known of its name.
func (s *session) window(name string) int {
	if n := s.settings.Model.Window; n > 0 {
		return n
	}
	for _, w := range windows() {
		if w.name.MatchString(name) {
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

// findTools finds tools from outside and has them declared to whoever asked.
func (s *session) findTools(env Env) builtin.FindTools {
	return func(ctx context.Context, c tool.Call, query string, most int) []tool.Declaration {
		s.settle(ctx, env)
		var all []tool.Declaration
		if s.shelf != nil {
			all = s.shelf.Tools(c.By)
		} else { // no model is told of tools; a person may look for them all the same
			for _, d := range s.exec.Registry.All() {
				if d.Origin != "" {
					all = append(all, d)
				}
			}
		}
		found := discover.Rank(query, all, most)
		if s.shelf != nil {
			for _, d := range found {
				s.shelf.Reveal(c.By, d.Name)
			}
		}
		return found
	}
}
