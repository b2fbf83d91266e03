package lsp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
)

// Position is a place in a text: a line and a number of code units in it, both from 0.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
	// of a link to a target, with which some servers answer
	TargetURI            string `json:"targetUri"`
	TargetSelectionRange Range  `json:"targetSelectionRange"`
}

// locations is an answer with one place, several or none.
type locations []location

func (l *locations) UnmarshalJSON(raw []byte) error {
	if one := (location{}); len(raw) > 0 && raw[0] == '{' {
		err := json.Unmarshal(raw, &one)
		*l = locations{one}
		return err
	}
	return json.Unmarshal(raw, (*[]location)(l))
}

type diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity"`
	Message  json.RawMessage `json:"message"` // a string, or markup
	Source   string          `json:"source"`
	Code     json.RawMessage `json:"code"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes"`
	DocumentChanges []struct {
		Kind         string `json:"kind"` // create, rename or delete; "": edits
		TextDocument struct {
			URI     string `json:"uri"`
			Version *int   `json:"version"`
		} `json:"textDocument"`
		Edits []textEdit `json:"edits"`
	} `json:"documentChanges"`
}

// symbol is a symbol of a document or of the workspace, in any of the forms that servers use.
type symbol struct {
	Name           string   `json:"name"`
	Kind           int      `json:"kind"`
	ContainerName  string   `json:"containerName"`
	Location       location `json:"location"`
	URI            string   `json:"uri"`
	SelectionRange Range    `json:"selectionRange"`
	Children       []symbol `json:"children"`
}

// symbolKinds are the names of the kinds of symbols, from 1.
var symbolKinds = strings.Fields("file module namespace package class method property field constructor enum " +
	"interface function variable constant string number boolean array object key null enum-member struct event " +
	"operator type-parameter")

func kindName(kind int) string {
	if kind < 1 || kind > len(symbolKinds) {
		return "symbol"
	}
	return symbolKinds[kind-1]
}

// capabilities are what a server can do.
type capabilities struct {
	PositionEncoding       string          `json:"positionEncoding"`
	DiagnosticProvider     json.RawMessage `json:"diagnosticProvider"`
	DefinitionProvider     json.RawMessage `json:"definitionProvider"`
	ReferencesProvider     json.RawMessage `json:"referencesProvider"`
	ImplementationProvider json.RawMessage `json:"implementationProvider"`
	HoverProvider          json.RawMessage `json:"hoverProvider"`
	DocumentSymbolProvider json.RawMessage `json:"documentSymbolProvider"`
	WorkspaceSymbols       json.RawMessage `json:"workspaceSymbolProvider"`
	CallHierarchyProvider  json.RawMessage `json:"callHierarchyProvider"`
	RenameProvider         json.RawMessage `json:"renameProvider"`
}

// offered reports whether a capability is there.
func offered(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// initialization returns the parameters of the first request.
func initialization(root string, init json.RawMessage) map[string]any {
	return map[string]any{
		"processId":  nil, // it may be in another PID namespace
		"clientInfo": map[string]string{"name": "adze"}, "rootUri": uriOf(root), "rootPath": root,
		"workspaceFolders":      []map[string]string{{"uri": uriOf(root), "name": filepath.Base(root)}},
		"initializationOptions": init,
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
			"workspace": map[string]any{
				"configuration": true, "workspaceFolders": true, "applyEdit": false,
				"workspaceEdit":         map[string]any{"documentChanges": true},
				"didChangeWatchedFiles": map[string]any{"dynamicRegistration": false},
			},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": true},
				"publishDiagnostics": map[string]any{"versionSupport": true},
				"diagnostic":         map[string]any{"dynamicRegistration": false},
				"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
				"hover":              map[string]any{"contentFormat": []string{"markdown", "plaintext"}},
				"definition":         map[string]any{"linkSupport": false},
				"callHierarchy":      map[string]any{}, "references": map[string]any{},
				"implementation": map[string]any{}, "rename": map[string]any{},
			},
		},
	}
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf returns the file of a URI; "": it is none.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	path := u.Path
	if filepath.VolumeName(strings.TrimPrefix(path, "/")) != "" {
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// textOf returns a text in any of the forms that servers use for hovers and messages.
func textOf(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var markup struct{ Value string }
	if json.Unmarshal(raw, &markup) == nil && markup.Value != "" {
		return markup.Value
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil {
		return ""
	}
	var texts []string
	for _, part := range several {
		if text := textOf(part); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}
