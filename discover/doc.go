// Package discover brings tools from outside into a [tool.Registry]: tools that a project's own command lists and
// runs, and tools of MCP servers.
//
//	found, err := discover.Command{Discover: "./tools.sh list", Call: "./tools.sh call", Dir: dir}.Tools(ctx)
//	registry.Set(discover.CommandOrigin, found.Tools)
//
//	servers := discover.Open(map[string]discover.Server{"github": {Command: "github-mcp", Args: []string{"stdio"}}},
//		discover.Options{Registry: registry, Dir: dir, State: state})
//	defer servers.Close()
//
// What comes from outside is data: names are made valid and unique, descriptions are bounded and freed of invisible
// characters, schemas are read leniently, and nothing that a command or a server says of its own tools grants them
// anything. Every such tool has an Origin, so the executor counts it as touching anything.
//
// The package reads no settings and decides nothing about trust: whoever calls it has decided already what may run.
package discover
