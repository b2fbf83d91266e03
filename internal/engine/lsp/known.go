package lsp

import "encoding/json"

// known returns the servers that users don't have to name. It is a table in Go, because every start reads it.
func known() []Server {
	return []Server{
		{
			Name: "gopls", Command: []string{"gopls"},
			Files: map[string]string{".go": "go"},
			Init: json.RawMessage(`{"pullDiagnostics": true, "diagnosticsTrigger": "Save", "diagnosticsDelay": "1m", ` +
				`"staticcheck": false, "vulncheck": "Off", "symbolScope": "workspace"}`),
			Version: []string{"version"}, Install: "go install golang.org/x/tools/gopls@latest",
		},
		{
			Name: "typescript-language-server", Command: []string{"typescript-language-server", "--stdio"},
			Files: map[string]string{
				".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
				".tsx": "typescriptreact", ".js": "javascript", ".mjs": "javascript",
				".cjs": "javascript", ".jsx": "javascriptreact",
			},
			Init:     json.RawMessage(`{"disableAutomaticTypingAcquisition": true, "hostInfo": "adze"}`),
			TSServer: true, Install: "npm install -g typescript-language-server typescript",
		},
		{
			Name: "pyright", Command: []string{"pyright-langserver", "--stdio"},
			Files:   map[string]string{".py": "python", ".pyi": "python"},
			Install: "npm install -g pyright",
		},
		{
			Name: "rust-analyzer", Command: []string{"rust-analyzer"},
			Files: map[string]string{".rs": "rust"},
			Init: json.RawMessage(`{"checkOnSave": false, "cargo": {"buildScripts": {"enable": false}}, ` +
				`"procMacro": {"enable": false}}`),
			Install: "rustup component add rust-analyzer",
		},
		{
			Name: "clangd", Command: []string{"clangd"},
			Files: map[string]string{
				".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp",
				".hh": "cpp", ".m": "objective-c",
			},
			Install: "install clangd with the system's package manager",
		},
		{
			Name: "bash-language-server", Command: []string{"bash-language-server", "start"},
			Files:   map[string]string{".sh": "shellscript", ".bash": "shellscript"},
			Install: "npm install -g bash-language-server",
		},
		{
			Name: "yaml-language-server", Command: []string{"yaml-language-server", "--stdio"},
			Files: map[string]string{".yaml": "yaml", ".yml": "yaml"},
			Settings: map[string]json.RawMessage{
				"yaml":   json.RawMessage(`{"schemaStore": {"enable": false}}`),
				"redhat": json.RawMessage(`{"telemetry": {"enabled": false}}`),
			},
			Install: "npm install -g yaml-language-server",
		},
		{
			Name: "json-language-server", Command: []string{"vscode-json-language-server", "--stdio"},
			Files: map[string]string{".json": "json", ".jsonc": "jsonc"},
			Init:  json.RawMessage(`{"provideFormatter": false, "handledSchemaProtocols": ["file"]}`),
			Settings: map[string]json.RawMessage{
				"json": json.RawMessage(`{"validate": {"enable": true}}`),
			},
			Install: "npm install -g vscode-langservers-extracted",
		},
	}
}
