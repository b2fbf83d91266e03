package project

import (
	"testing"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
)

// Hooks and tools.afterChange were listed as other settings, although they run programs.
func TestEffectOfSettings(t *testing.T) {
	var items []trust.Item
	for _, key := range []string{"ui.theme", "hooks", "permissions.allow", "mcpServers", "tools.discoveryCommand", "tools.afterChange"} {
		items = append(items, wantsSetting(settings.Withheld{Key: key, JSON: `{"x":1}`})...)
	}
	const want = `  Runs programs:
    hooks = {"x":1}
    tools.discoveryCommand = {"x":1}
    tools.afterChange = {"x":1}
  Changes permissions:
    permissions.allow = {"x":1}
  Adds servers, agents, skills:
    mcpServers.x = 1
  Changes other settings:
    ui.theme = {"x":1}
`
	if got := trust.Describe(items); got != want {
		t.Error(got)
	}
}
