package external

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// The wait for the discovery command used to end 300 ms after the command's own time limit. On a busy machine the command's
// error came later, and was lost.
func TestWaitForTheDiscoveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		tools := &Tools{command: &discovery{ended: ended}, until: time.Now()}
		waited := make(chan []string)
		go func() { waited <- tools.Wait(t.Context()) }()
		time.Sleep(time.Minute)
		tools.command.said = []string{"timed out after 10s"}
		close(ended)
		if got := <-waited; !slices.Equal(got, []string{"timed out after 10s"}) {
			t.Errorf("%q", got)
		}
	})
}

// Tools of a trusted server need no approval, unless a deny or ask rule matches.
func TestTrustedServersRunWithoutApproval(t *testing.T) {
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
		{"only a user", "mcp:ours", permission.Default, nil, nil, true, tool.Ask},
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
