package session

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// A server that the user trusts is not asked about, and gains nothing against what forbids or asks by rule.
func TestTrustedServersRunUnasked(t *testing.T) {
	world := permission.World{Roots: []string{"/app"}, Home: "/home/me"}
	for _, c := range []struct {
		name, origin string
		mode         permission.Mode
		ask, deny    []string
		must         bool
		want         tool.Verdict
	}{
		{"trusted", "mcp:ours", permission.Default, nil, nil, false, tool.Allow},
		{"auto-edit", "mcp:ours", permission.AutoEdit, nil, nil, false, tool.Allow},
		{"another server", "mcp:theirs", permission.Default, nil, nil, false, tool.Ask},
		{"plan mode", "mcp:ours", permission.Plan, nil, nil, false, tool.Deny},
		{"ask rule", "mcp:ours", permission.Default, []string{"mcp__ours"}, nil, false, tool.Ask},
		{"ask rule in yolo", "mcp:ours", permission.Yolo, []string{"mcp__ours"}, nil, false, tool.Ask},
		{"deny rule", "mcp:ours", permission.Default, nil, []string{"mcp__ours"}, false, tool.Deny},
		{"only a person", "mcp:ours", permission.Default, nil, nil, true, tool.Ask},
	} {
		rules, _, err := permission.ParseRules(nil, c.ask, c.deny)
		if err != nil {
			t.Fatal(err)
		}
		p := permission.New(world, c.mode)
		p.SetRules(rules)
		judge := trusting(p.Judge, func(origin string) bool { return origin == "mcp:ours" })
		alias := strings.TrimPrefix(c.origin, "mcp:")
		r := tool.Request{Declaration: tool.Declaration{Name: alias + "__x", Origin: c.origin}}
		r.Access, r.MustAsk = []tool.Access{tool.Anything}, c.must
		if got := judge(r); got.Verdict != c.want {
			t.Errorf("%s: got %v (%s), want %v", c.name, got.Verdict, got.Reason, c.want)
		}
	}
}
