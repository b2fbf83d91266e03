package trial

import (
	"strings"
	"testing"
)

func TestProtects(t *testing.T) {
	p := Protects([]string{"/ws/.githooks"}, func(path string) bool {
		return strings.HasSuffix(path, "/.mcp.json") || strings.Contains(path, "/.git")
	})
	for path, want := range map[string]bool{
		"/ws/.githooks": true, "/ws/.githooks/pre-commit": true, "/ws/a": false, "/ws/deep/.mcp.json": true,
		"/ws/.git": true, "/ws/new/.git": true, "/ws/.git/index": false, "/ws/.git/objects/ab/cd": false, "/ws/.git/refs/heads/config": true, "/ws/.git/config": true,
		"/ws/.git/hooks/pre-commit": true, "/ws/.git/hooks": true, "/ws/.git/info/attributes": true, "/ws/.git/info/exclude": false,
		"/ws/.git/modules/a/hooks/x": true, "/ws/.git/modules/a/config": true, "/ws/.git/worktrees/w/gitdir": true, "/ws/.git/objects/info/alternates": true,
		"/ws/.git/refs/heads/hooks/x": false,
	} {
		if p(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
