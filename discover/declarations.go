package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// declared is a function declaration as a discovery command prints it.
type declared struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
	Parameters  json.RawMessage `json:"parameters"` // Gemini's form, types in upper case
	Functions   json.RawMessage `json:"function_declarations"`
	Functions2  json.RawMessage `json:"functionDeclarations"`
}

// parseDeclarations reads what a discovery command printed: an array of declarations, bare or grouped under
// function_declarations or functionDeclarations; such a group may also stand alone. What is no declaration is left out
// and reported.
func parseDeclarations(out []byte) (found []declared, warnings []string, err error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil, nil, errors.New("no output; expected a JSON array of function declarations")
	}
	items := []json.RawMessage{out}
	if out[0] != '{' {
		items = nil
		if err := json.Unmarshal(out, &items); err != nil {
			return nil, nil, fmt.Errorf("expected a JSON array of function declarations, got %q: %w", clip(string(out), 200), err)
		}
	}
	for i, raw := range items {
		at := fmt.Sprintf("entry %d", i+1)
		var d declared
		if err := json.Unmarshal(raw, &d); err != nil {
			warnings = append(warnings, fmt.Sprintf("%s is not a function declaration: %s", at, misread(err)))
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
			warnings = append(warnings, fmt.Sprintf("%s: declarations must be an array, got a JSON %s", at, jsonKind(raw)))
		}
		for i, raw := range group {
			var d declared
			if err := json.Unmarshal(raw, &d); err != nil {
				warnings = append(warnings, fmt.Sprintf("%s, declaration %d is invalid: %s", at, i+1, misread(err)))
			} else if d.Name == "" {
				warnings = append(warnings, fmt.Sprintf("%s, declaration %d has no name", at, i+1))
			} else {
				found = append(found, d)
			}
		}
	}
	return found, warnings
}

// misread says in the words of JSON what is wrong with a declaration; encoding/json speaks of Go.
func misread(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "":
		return "expected an object, got a JSON " + wrong.Value
	}
	return fmt.Sprintf("%s must be a string, got a JSON %s", wrong.Field, wrong.Value)
}

// jsonKind names what a JSON value is.
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

// schema is the declaration's JSON Schema, whichever of the two spellings it came in.
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

// lowerTypes writes the types of a schema in lower case, as JSON Schema wants them; Gemini has them in upper case.
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

// lowerNode goes to every place where a schema may stand and to no other: an enum of "STRING" is a value, and a
// property may be named "type".
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
