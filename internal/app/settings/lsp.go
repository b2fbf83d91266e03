package settings

import (
	"encoding/json"

	"github.com/adze-dev/adze/internal/engine/lsp"
)

// LSP are the settings of language servers.
type LSP struct {
	Servers     map[string]json.RawMessage // the user's, by name; null: a known one is off
	Diagnostics bool                       // results of changes have errors and warnings
	Unsandboxed bool                       // servers run where there is no sandbox
}

// lspKeys returns settings about language servers. Servers are programs, so a project can't name any.
func lspKeys() []key {
	return []key{
		{
			name: "lsp.servers", own: true, adds: true, put: putLanguageServers,
			shape: `{"type":"object","additionalProperties":{"type":["object","null"]}}`,
			about: "Language servers by name, besides the known ones: {\"zls\": {\"command\": [\"zls\"], \"files\": " +
				"{\".zig\": \"zig\"}}}. With the name of a known one it replaces its command, files, init or " +
				"settings; null turns it off.",
		},
		{
			name: "lsp.diagnostics", preset: "true", shape: booleanShape,
			about: "Add new errors and warnings of language servers to the results of calls that changed files.",
			put:   boolean(func(s *Settings) *bool { return &s.LSP.Diagnostics }),
		},
		{
			name: "lsp.unsandboxed", own: true, preset: "false", shape: booleanShape,
			about: "Start language servers without a sandbox where there is none.",
			put:   boolean(func(s *Settings) *bool { return &s.LSP.Unsandboxed }),
		},
	}
}

func putLanguageServers(s *Settings, g given) (string, error) {
	var own map[string]json.RawMessage
	if g.file == nil || g.kind() != "an object" || json.Unmarshal(g.json(), &own) != nil {
		return "", mustBe("an object of servers", g)
	}
	own = merged(s.LSP.Servers, own)
	if _, err := lsp.Known(own); err != nil {
		return "", err
	}
	s.LSP.Servers = own
	return "", nil
}
