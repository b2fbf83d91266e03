// Package peers has tests against programs of others from npm: MCP servers, MCP clients, agents, the conformance suite,
// model servers and clients of model APIs. They run if the packages are installed (make test-peers) and are skipped
// otherwise. It has no other code.
package peers
