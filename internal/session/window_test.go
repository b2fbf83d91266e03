package session

import (
	"testing"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model/api"
)

// The window of a model is what settings say, then what its server listed, then what its name suggests.
func TestWindow(t *testing.T) {
	provider := settings.Provider{ID: "claude-own"}
	provider.Config.Window = 5_000
	for _, tt := range []struct {
		name   string
		set    int
		listed int
		want   int
	}{
		{"nobody-knows", 0, 0, 128_000},
		{"claude-x", 0, 0, 200_000},
		{"claude-x", 0, 4_000, 4_000},
		{"claude-x", 9_000, 4_000, 9_000},
		{"claude-x", -1, 0, 200_000},
		{"claude-own", 9_000, 4_000, 5_000},
	} {
		m := &Models{settings: &settings.Settings{Model: settings.Model{
			Window: tt.set, Providers: map[string][]settings.Provider{"openai": {provider}},
		}}}
		m.learn([]api.Info{{ID: tt.name, ContextWindow: tt.listed}, {ID: "other", ContextWindow: 1}})
		if got := m.window(tt.name); got != tt.want {
			t.Errorf("%s, set %d, listed %d: %d, want %d", tt.name, tt.set, tt.listed, got, tt.want)
		}
	}
}
