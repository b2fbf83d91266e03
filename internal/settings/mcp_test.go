package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func servers(s *Settings) map[string]string {
	out := map[string]string{}
	for alias, server := range s.MCP.Servers {
		out[alias] = string(server.JSON)
	}
	return out
}

func TestServersMergeByName(t *testing.T) {
	dir, src := place(t, map[string]string{
		"home/.qwen": `{"mcpServers": {"a": {"command": "qwen"}, "b": {"command": "qwen"}}, "toolDiscoveryCommand": "./old", "tools": {"discoveryCommand": "./list"}}`,
		"home/.adze": `{"mcpServers": {"b": {"command": "adze"}, "n": null}, "mcp": {"allowed": ["a", "c"], "excluded": ["x"], "serverCommand": "one"}}`,
		"app/.adze":  `{"mcpServers": {"d": {"httpUrl": "http://d"}}, "mcp": {"allowed": [], "excluded": ["y"]}, "tools": {"toolCallCommand": "./call"}}`,
	})
	if err := os.WriteFile(filepath.Join(dir, "app", ".mcp.json"), []byte(`{"mcpServers": {"c": {"command": "c"}, "d": {}}, "other": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"a": `{"command": "qwen"}`, "b": `{"command": "adze"}`}
	all := map[string]string{"a": own["a"], "b": own["b"], "c": `{"command": "c"}`, "d": `{"httpUrl": "http://d"}`}
	for _, trusted := range []bool{false, true} {
		src.Trusted = trusted
		s, err := Load(src)
		if err != nil {
			t.Fatal(err)
		}
		want, call := own, ""
		if trusted {
			want, call = all, "./call"
		}
		if diff := cmp.Diff(want, servers(s)); diff != "" {
			t.Errorf("trusted %v: (-want +got)\n%s", trusted, diff)
		}
		if len(s.MCP.Allowed) != 0 || s.MCP.Allowed == nil || len(s.MCP.Excluded) != 2 || s.MCP.ServerCommand != "one" {
			t.Errorf("trusted %v: %+v", trusted, s.MCP)
		}
		if s.Tools.DiscoveryCommand != "./list" || s.Tools.CallCommand != call {
			t.Errorf("trusted %v: %+v", trusted, s.Tools)
		}
		var withheld []string
		for _, w := range s.Withheld() {
			withheld = append(withheld, w.Key)
		}
		if got := strings.Join(withheld, " "); !trusted && got != "mcpServers tools.toolCallCommand mcpServers" || trusted && got != "" {
			t.Errorf("trusted %v: withheld %s", trusted, got)
		}
	}
}

// A .mcp.json protects nobody: what is wrong in it is told and stops nothing.
func TestBrokenMCPFile(t *testing.T) {
	for text, note := range map[string]string{
		"{":                           "the file is ignored: unexpected end of JSON input",
		`{"mcpServers": 3}`:           "mcpServers is ignored: must be an object of servers, got 3",
		`{"mcpServers": {"a": "sh"}}`: "mcpServers is ignored: server a must be an object, got a string",
	} {
		dir, src := place(t, map[string]string{"app/.adze": "{}"})
		if err := os.WriteFile(filepath.Join(dir, "app", ".mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(src)
		if err != nil || len(s.Notes()) != 1 || !strings.HasSuffix(s.Notes()[0].String(), note) || len(s.MCP.Servers) > 0 {
			t.Errorf("%s: %v, %v", text, s.Notes(), err)
		}
	}
}
