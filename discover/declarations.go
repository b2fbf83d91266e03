package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/tool"
)

// declared is a function declaration as a discovery command prints it.
type declared struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
	Parameters  json.RawMessage `json:"parameters"` // Gemini's format, with types in upper case
	Functions   json.RawMessage `json:"function_declarations"`
	Functions2  json.RawMessage `json:"functionDeclarations"`
}

// parseDeclarations reads the output of a discovery command: an array of declarations, directly or grouped under
// function_declarations or functionDeclarations, or one such group. Invalid declarations are skipped and reported.
func parseDeclarations(out []byte) (found []declared, warnings []string, err error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil, nil, errors.New("no output; expected a JSON array of function declarations")
	}
	items := []json.RawMessage{out}
	if out[0] != '{' {
		items = nil
		if err := json.Unmarshal(out, &items); err != nil {
			return nil, nil, fmt.Errorf("expected a JSON array of function declarations, got %q: %w",
				humanize.Shorten(string(out), 200), err)
		}
	}
	for i, raw := range items {
		at := fmt.Sprintf("entry %d", i+1)
		var d declared
		if err := json.Unmarshal(raw, &d); err != nil {
			warnings = append(warnings, fmt.Sprintf("%s is not a function declaration: %s", at, clean.JSONError(err)))
			continue
		}
		switch {
		case d.Functions != nil || d.Functions2 != nil:
			group, bad := parseGroup(at, d)
			found, warnings = append(found, group...), append(warnings, bad...)
		case d.Name == "":
			warnings = append(warnings, at+" has no name")
		default:
			found = append(found, d)
		}
	}
	return found, warnings, nil
}

func parseGroup(at string, d declared) (found []declared, warnings []string) {
	for _, raw := range []json.RawMessage{d.Functions, d.Functions2} {
		var group []json.RawMessage
		if len(raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw, &group); err != nil {
			warnings = append(warnings, fmt.Sprintf("%s: declarations must be an array, got a JSON %s", at,
				jsonKind(raw)))
		}
		for i, raw := range group {
			var d declared
			if err := json.Unmarshal(raw, &d); err != nil {
				warnings = append(warnings, fmt.Sprintf("%s, declaration %d is invalid: %s", at, i+1,
					clean.JSONError(err)))
			} else if d.Name == "" {
				warnings = append(warnings, fmt.Sprintf("%s, declaration %d has no name", at, i+1))
			} else {
				found = append(found, d)
			}
		}
	}
	return found, warnings
}

// jsonKind names the type of a JSON value.
func jsonKind(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "object"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// schema returns the declaration's JSON Schema, in either spelling.
func (d declared) schema() json.RawMessage {
	if isObject(d.JSONSchema) {
		return d.JSONSchema
	}
	if isObject(d.Parameters) {
		return lowerTypes(d.Parameters)
	}
	return json.RawMessage(`{"type":"object","properties":{}}`)
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

// lowerTypes writes the types of a schema in lower case, as JSON Schema requires; Gemini has them in upper case.
func lowerTypes(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	lowerNode(v)
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// lowerNode visits every position that can have a schema and no other: an enum of "STRING" is a value, and a property
// may be named "type".
func lowerNode(v any) {
	n, ok := v.(map[string]any)
	if !ok {
		return
	}
	switch t := n["type"].(type) {
	case string:
		n["type"] = strings.ToLower(t)
	case []any:
		for i, one := range t {
			if s, ok := one.(string); ok {
				t[i] = strings.ToLower(s)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		lowerNode(n[key])
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		if list, ok := n[key].([]any); ok {
			for _, one := range list {
				lowerNode(one)
			}
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions", "patternProperties"} {
		if named, ok := n[key].(map[string]any); ok {
			for _, one := range named {
				lowerNode(one)
			}
		}
	}
}

// Rank returns the tools that match a query best, best first, for a tool search. "select:a,b" names tools. Otherwise
// each word counts, more in a name than in a description, and +word must be in the name. A word of one or two letters
// counts only as a whole word of a name.
func Rank(query string, all []tool.Declaration, limit int) []tool.Declaration {
	if names, ok := strings.CutPrefix(query, "select:"); ok {
		var out []tool.Declaration
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			i := slices.IndexFunc(all, func(d tool.Declaration) bool {
				return strings.EqualFold(d.Name, name) || slices.Contains(d.Aliases, name)
			})
			if i >= 0 && len(out) < limit {
				out = append(out, all[i])
			}
		}
		return out
	}
	type scored struct {
		tool.Declaration
		score int
	}
	var found []scored
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return unicode.IsSpace(r) ||
			strings.ContainsRune(`,;:"'`, r)
	})
	for _, d := range all {
		if n := score(words, d); n > 0 {
			found = append(found, scored{d, n})
		}
	}
	sorted.By(found, func(a, b scored) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return strings.Compare(a.Name, b.Name)
	})
	var out []tool.Declaration
	for _, s := range found[:min(len(found), limit)] {
		out = append(out, s.Declaration)
	}
	return out
}

func score(words []string, d tool.Declaration) int {
	name, text := strings.ToLower(d.Name), strings.ToLower(d.DisplayName+" "+d.Description)
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' })
	total := 0
	for _, w := range words {
		w, must := strings.CutPrefix(w, "+")
		switch {
		case w == "":
		case name == w:
			total += 20
		case slices.Contains(parts, w):
			total += 10
		case len(w) > 2 && (strings.Contains(name, w) || strings.Contains(name, strings.TrimSuffix(w, "s"))):
			total += 5
		case must && !strings.Contains(name, w):
			return 0
		case len(w) > 2 && strings.Contains(text, w):
			total += 2
		}
	}
	return total
}
