package gemini

import (
	"encoding/json"

	"github.com/adze-dev/adze/model/api"
)

// openAPI converts a JSON Schema for servers without parametersJsonSchema to a subset of OpenAPI 3.0. Other keywords
// are omitted: arguments are checked against the original.
func openAPI(raw json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(api.Lowered(raw), &root) != nil {
		return nil
	}
	if properties, _ := root["properties"].(map[string]any); len(properties) == 0 {
		return nil // an object without properties is rejected, a function without parameters isn't
	}
	out, err := api.Marshal(subset(root))
	if err != nil {
		return nil
	}
	return out
}

// subset returns a node with the keywords of the API's type Schema.
func subset(in map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range in {
		switch key {
		case "description", "title", "required", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
			"pattern":
			out[key] = value
		case "type":
			typeOf(value, out)
		case "enum":
			if words := texts(value); len(words) > 0 {
				out[key] = words
			}
		case "items":
			out[key] = typed(value)
		case "properties":
			nodes := map[string]any{}
			all, _ := value.(map[string]any)
			for name, v := range all {
				nodes[name] = typed(v)
			}
			out[key] = nodes
		case "anyOf":
			var nodes []any
			all, _ := value.([]any)
			for _, v := range all {
				nodes = append(nodes, typed(v))
			}
			out[key] = nodes
		}
	}
	if t, ok := out["type"]; ok && t != "string" {
		delete(out, "enum") // the API rejects the whole request
	}
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = typed(nil)
	}
	return out
}

// typed returns a node below the top. The server requires a type, even if any value is allowed.
func typed(value any) map[string]any {
	in, _ := value.(map[string]any)
	out := subset(in)
	if out["type"] == nil && out["anyOf"] == nil {
		out["type"] = "string"
	}
	return out
}

// typeOf sets the type: the first one that isn't null.
func typeOf(value any, out map[string]any) {
	types, ok := value.([]any)
	if !ok {
		types = []any{value}
	}
	for _, t := range types {
		switch {
		case t == "null":
			out["nullable"] = true
		case out["type"] == nil:
			out["type"] = t
		}
	}
}

// texts returns the values of an enum, if all are strings: the API supports no others.
func texts(value any) []string {
	var out []string
	all, _ := value.([]any)
	for _, v := range all {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		out = append(out, s)
	}
	return out
}
