// Package peers holds tests of discover and serve against programs that others wrote: MCP servers, MCP clients,
// agents and the conformance suite, all from npm. They run where the packages are installed (make test-peers) and say so
// where not. There is no code in it.
package peers
