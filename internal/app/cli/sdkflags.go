package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
)

// mcpConfig is what the command line says about MCP servers.
type mcpConfig struct {
	servers map[string]discover.Server
	only    bool // no configured ones
}

// sdkFlags are flags of Claude Code that its Agent SDK passes. A value that Adze can't apply is an error.
func sdkFlags(o *options) []flag {
	nothing := func(string) error { return nil }
	return []flag{
		{long: "await-initialize", on: cmdPrompt, hidden: true, to: nothing}, // servers start after it
		{long: "verbose", on: cmdPrompt, hidden: true, to: nothing},          // stream-json always is
		{long: "allow-dangerously-skip-permissions", on: cmdPrompt, hidden: true, to: nothing},
		{long: "permission-prompt-tool", value: "stdio", on: cmdPrompt, hidden: true, among: []string{"stdio"},
			to: text(&o.promptTool)},
		{long: "setting-sources", value: "A,B", on: cmdPrompt, hidden: true, to: func(v string) error {
			given := elements(v)
			for _, all := range []string{"user", "project", "local"} {
				if !slices.Contains(given, all) || len(given) != 3 {
					return fmt.Errorf("expected user,project,local, got %q\nAdze always reads all of its settings.", v)
				}
			}
			return nil
		}},
		{long: "mcp-config", value: "FILE|JSON", on: cmdPrompt,
			about: "add the MCP servers of this file or text, in the format of .mcp.json (repeatable)", to: o.mcp.add},
		{long: "strict-mcp-config", on: cmdPrompt, about: "use no other MCP servers than those of --mcp-config",
			to: yes(&o.mcp.only)},
	}
}

// add reads the value of --mcp-config. Variables aren't expanded.
func (m *mcpConfig) add(v string) error {
	text := []byte(v)
	if !strings.HasPrefix(strings.TrimSpace(v), "{") {
		var err error
		if text, err = os.ReadFile(v); err != nil {
			return err
		}
	}
	var config struct {
		Servers map[string]discover.Server `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return errors.New(discover.Misread(err))
	}
	if config.Servers == nil {
		return errors.New(`expected {"mcpServers": {…}}`)
	}
	if m.servers == nil {
		m.servers = map[string]discover.Server{}
	}
	maps.Copy(m.servers, config.Servers)
	return nil
}
