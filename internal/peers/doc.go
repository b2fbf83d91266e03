// Package peers holds tests against programs that others wrote: MCP servers, MCP clients, agents, the conformance suite,
// model servers and clients of model APIs, all from npm. They run where the packages are installed (make test-peers) and say so
// where not. There is no code in it.
package peers
