package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/settings"
)

// configured are the servers that settings name, with the values of variables filled in, and others in their place or beside
// them, and what is wrong with the rest.
func configured(env Env, set settings.MCP, more map[string]discover.Server) (servers map[string]discover.Server, problems []Problem) {
	servers = map[string]discover.Server{}
	for _, alias := range slices.Sorted(maps.Keys(set.Servers)) {
		written := set.Servers[alias]
		var server discover.Server
		if err := json.Unmarshal(written.JSON, &server); err != nil {
			problems = append(problems, Problem{alias, fmt.Sprintf("%s: %s", written.From, discover.Misread(err))})
			continue
		}
		servers[alias] = server.Expand(env.variable)
	}
	if line := set.ServerCommand; line != "" {
		words, err := discover.Words(line)
		_, taken := servers["mcp"]
		switch {
		case err != nil:
			problems = append(problems, Problem{"mcp", err.Error()})
		case taken:
			problems = append(problems, Problem{Text: "mcp.mcpServerCommand is ignored: mcpServers has a server named mcp"})
		case len(words) > 0:
			servers["mcp"] = discover.Server{Command: words[0], Args: words[1:]}.Expand(env.variable)
		}
	}
	maps.Copy(servers, more)
	problems = slices.DeleteFunc(problems, func(p Problem) bool {
		_, replaced := more[p.Server]
		return replaced
	})
	var allowed []string
	if set.Allowed != nil {
		allowed = append([]string{}, settings.Texts(set.Allowed)...)
	}
	return discover.Select(servers, allowed, settings.Texts(set.Excluded)), problems
}
