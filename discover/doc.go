// Package discover adds external tools to a [tool.Registry]: tools that a project's own command lists and
// runs, and tools of MCP servers.
//
//	found, err := discover.Command{Discover: "./tools.sh list", Call: "./tools.sh call", Dir: dir}.Tools(ctx)
//	registry.Set(discover.CommandOrigin, found.Tools)
//
//	servers := discover.Open(map[string]discover.Server{"github": {Command: "github-mcp", Args: []string{"stdio"}}},
//		discover.Options{Registry: registry, Dir: dir, State: state})
//	defer servers.Close()
//
// External input is data: names are made valid and unique, descriptions are bounded and invisible characters removed,
// schemas are read leniently, and nothing that a command or a server says about its tools grants permissions. Every
// external tool has an Origin, so the executor treats it as accessing anything.
//
// The package reads no settings and makes no trust decisions; callers decide what may run.
package discover
