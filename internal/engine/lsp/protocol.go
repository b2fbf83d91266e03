package lsp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Position is a place in a text: a line and a number of UTF-16 code units in it, both from 0.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

type diagnostic struct {
	Range    Range
	Severity int // 1: an error, 2: a warning; 0: the client decides
	Message  any // a string, or markup
}

type textEdit struct {
	Range   Range
	NewText string
}

type workspaceEdit struct {
	Changes         map[string][]textEdit
	DocumentChanges []struct {
		Kind         string // create, rename or delete; "": edits
		TextDocument struct{ URI string }
		Edits        []textEdit
	}
}

// item is what stands for a place: a location, a symbol in any of its forms, or a function.
type item struct {
	URI            string
	Range          Range
	Location       *item
	SelectionRange *Range
	Name           string
	Children       []item
}

// items is an answer with one place, several or none.
type items []item

func (l *items) UnmarshalJSON(text []byte) error {
	if text[0] == '{' {
		text = append(append([]byte{'['}, text...), ']')
	}
	return json.Unmarshal(text, (*[]item)(l))
}

// clientCan is what servers learn about this client.
const clientCan = `{
"workspace": {"configuration": true, "workspaceFolders": true, "applyEdit": false,
	"workspaceEdit": {"documentChanges": true}, "didChangeWatchedFiles": {"dynamicRegistration": false}},
"textDocument": {"synchronization": {}, "publishDiagnostics": {"versionSupport": true}, "diagnostic": {},
	"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}, "hover": {"contentFormat": ["markdown", "plaintext"]},
	"definition": {}, "references": {}, "implementation": {}, "rename": {}, "callHierarchy": {}}}`

// initialization returns the parameters of the first request.
func initialization(root string, options json.RawMessage) map[string]any {
	return map[string]any{
		"processId":  nil, // it may be in another PID namespace
		"clientInfo": map[string]string{"name": "adze"}, "rootUri": names.URI(root), "rootPath": root,
		"workspaceFolders":      []map[string]string{{"uri": names.URI(root), "name": filepath.Base(root)}},
		"initializationOptions": options, "capabilities": json.RawMessage(clientCan),
	}
}

// offered reports whether a capability of a server is there.
func offered(capability json.RawMessage) bool {
	return len(capability) > 0 && string(capability) != "null" && string(capability) != "false"
}

// named returns the parameter that names a file.
func named(path string) map[string]any { return map[string]any{"uri": names.URI(path)} }

// textOf returns a text in any of the forms that servers use for hovers and messages.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		return textOf(v["value"])
	case []any:
		var texts []string
		for _, part := range v {
			texts = append(texts, textOf(part))
		}
		return strings.Join(texts, "\n\n")
	}
	return ""
}

// units counts the UTF-16 code units of a text.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// offset returns the byte that a position stands for. A position after the end of a line is its end, as the protocol
// says; one in a character is an error, because the server has another text.
func offset(text string, p Position) (int, error) {
	lines := strings.SplitAfter(text, "\n")
	if p == (Position{Line: len(lines)}) {
		return len(text), nil
	}
	if p.Line < 0 || p.Line >= len(lines) {
		return 0, fmt.Errorf("the server named line %d, which doesn't exist", p.Line+1)
	}
	at := len(strings.Join(lines[:p.Line], ""))
	for _, r := range strings.TrimSuffix(lines[p.Line], "\n") {
		if p.Character <= 0 {
			break
		}
		p.Character -= utf16.RuneLen(r)
		at += utf8.RuneLen(r)
	}
	if p.Character < 0 {
		return 0, fmt.Errorf("the server named a place inside a character of line %d", p.Line+1)
	}
	return at, nil
}
