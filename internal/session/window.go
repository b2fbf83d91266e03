package session

import (
	"cmp"
	"context"
	"regexp"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// defaultWindow is that of a model about which nothing is known.
const defaultWindow = 128_000

// window is the context window of the model of a name, and when conversations are compacted to fit into it.
func (s *Session) window(name string) agent.Window {
	w := agent.Window{Tokens: s.Models.window(name), Threshold: s.Settings.Context.CompactAt}
	if other := s.Settings.Model.Compaction; other != "" && other != name {
		w.Summary = func(ctx context.Context) (model.Model, error) { return s.Models.other(ctx, other) }
	}
	return w
}

// window is how many tokens the model's context has: what settings say, what its server said, or what is known of its name.
func (m *Models) window(name string) int {
	return cmp.Or(setWindow(m.settings, name), m.listedWindow(name), familyWindow(name))
}

// setWindow is the window that settings say; 0: none.
func setWindow(set *settings.Settings, name string) int {
	for _, p := range providers() {
		for _, e := range set.Model.Providers[p.name] {
			if e.ID == name && e.Config.Window > 0 {
				return e.Config.Window
			}
		}
	}
	return max(set.Model.Window, 0)
}

// familyWindow is the window of a model by its name.
func familyWindow(name string) int {
	for _, w := range windows() {
		if w.name.MatchString(name) {
			return w.tokens
		}
	}
	return defaultWindow
}

// learn takes the windows that a server lists.
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

// listedWindow is the window of a model as its server listed it; 0: unknown.
func (m *Models) listedWindow(name string) int {
	m.listing.Lock()
	defer m.listing.Unlock()
	return m.windows[name]
}

type window struct {
	name   *regexp.Regexp
	tokens int
}

// windows are the context windows of families of models, as their makers give them, special ones first. A server may
// have been started with less: then model.generationConfig.contextWindowSize says so.
var windows = sync.OnceValue(func() []window {
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
})
