package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// anyObject is the schema of a tool without declared parameters.
const anyObject = `{"type":"object","properties":{}}`

// Lowered converts a tool's schema to one that servers accept: an object with properties at the top, no references, and
// the keywords of the newest drafts that servers support. External schemas can be of any draft, refer to themselves and
// have errors, and a server that rejects one rejects the whole request. Omitted keywords are still enforced: arguments
// are checked against the original.
func Lowered(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil {
		return json.RawMessage(anyObject)
	}
	l := &lowering{root: root, left: maxSchemaNodes}
	n, _ := l.node(root, 0).(map[string]any)
	out, err := humanize.JSON(l.object(n))
	if err != nil {
		return json.RawMessage(anyObject)
	}
	return out
}

const (
	maxSchemaNodes = 4000 // a small schema can refer to itself twice at every level
	maxSchemaDepth = 24
	maxPatternText = 200
)

// maxSchemas bounds the cache: a server can send new schemas all the time.
const maxSchemas = 10_000

// Parameters returns a tool's schema for a server. Schemas of built-in tools are sent unchanged; each of the others is
// lowered once, even if many tools have the same.
func (c *Client) Parameters(d tool.Declaration) json.RawMessage {
	switch {
	case len(d.Parameters) == 0:
		return json.RawMessage(anyObject)
	case d.Origin == "":
		return d.Parameters
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if lowered, ok := c.schemas[string(d.Parameters)]; ok {
		return lowered
	}
	if c.schemas == nil || len(c.schemas) >= maxSchemas {
		c.schemas = map[string]json.RawMessage{}
	}
	lowered := Lowered(d.Parameters)
	c.schemas[string(d.Parameters)] = lowered
	return lowered
}

// lowering is the state of lowering one schema.
type lowering struct {
	root  any
	left  int      // nodes that may still be written
	stack []string // references that are being followed
}

// node lowers a schema at any position. It returns nil for a schema that forbids everything.
func (l *lowering) node(v any, depth int) any {
	if allowed, ok := v.(bool); ok && !allowed {
		return nil
	}
	in, ok := v.(map[string]any)
	if l.left--; !ok || l.left < 0 || depth > maxSchemaDepth {
		return map[string]any{}
	}
	if ref, ok := in["$ref"].(string); ok {
		return l.reference(ref, in, depth)
	}
	out := map[string]any{}
	for _, key := range []string{"title", "description", "format"} {
		if s, ok := in[key].(string); ok && s != "" {
			out[key] = s
		}
	}
	if v, ok := in["default"]; ok && v != nil {
		out["default"] = v
	}
	l.values(in, out)
	limits(in, out)
	l.children(in, out, depth)
	l.choices(in, out, depth)
	if out["type"] == nil && out["properties"] != nil {
		out["type"] = "object"
	}
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	return out
}

// reference replaces a reference by its target. For a circular or invalid reference, only the keywords beside it are
// kept.
func (l *lowering) reference(ref string, in map[string]any, depth int) any {
	rest := maps.Clone(in)
	delete(rest, "$ref")
	target, found := pointed(l.root, ref)
	if !found || slices.Contains(l.stack, ref) {
		if named, ok := target.(map[string]any); ok {
			for _, key := range []string{"type", "title", "description"} {
				if rest[key] == nil && named[key] != nil {
					rest[key] = named[key]
				}
			}
		}
		return l.node(rest, depth+1)
	}
	l.stack = append(l.stack, ref)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()
	if named, ok := target.(map[string]any); ok {
		merged := maps.Clone(named)
		maps.Copy(merged, rest)
		return l.node(merged, depth+1)
	}
	return l.node(target, depth+1)
}

// pointed returns the target of a reference within the document.
func pointed(root any, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		step = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%20", " ").Replace(step)
		switch here := at.(type) {
		case map[string]any:
			if at, ok = here[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(here) {
				return nil, false
			}
			at = here[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// values lowers type, enum and const.
func (l *lowering) values(in, out map[string]any) {
	if types := typesOf(in); len(types) == 1 {
		out["type"] = types[0]
	} else if len(types) > 1 {
		out["type"] = types
	}
	if list, ok := in["enum"].([]any); ok && len(list) > 0 {
		out["enum"] = list
	} else if v, ok := in["const"]; ok {
		out["enum"] = []any{v}
	}
}

// typesOf returns the types of a schema by their names in JSON Schema: Gemini writes them in upper case, and authors
// use names of their programming language.
func typesOf(in map[string]any) []string {
	var said []any
	switch t := in["type"].(type) {
	case string:
		said = []any{t}
	case []any:
		said = t
	}
	var types []string
	for _, one := range said {
		name, _ := one.(string)
		if name = jsonType(strings.ToLower(name)); name != "" && !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	if nullable, _ := in["nullable"].(bool); nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	return types
}

// jsonType returns a type's name in JSON Schema; "" if unknown.
func jsonType(name string) string {
	switch name {
	case "string", "number", "integer", "boolean", "object", "array", "null":
		return name
	case "int", "long":
		return "integer"
	case "float", "double", "decimal":
		return "number"
	case "str", "text":
		return "string"
	case "bool":
		return "boolean"
	case "dict", "map":
		return "object"
	case "list", "tuple", "set":
		return "array"
	case "none":
		return "null"
	}
	return ""
}

// limits lowers the limits of numbers, strings and lists. A pattern that not every server supports is moved to the
// description.
func limits(in, out map[string]any) {
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
		"minItems", "maxItems"} {
		if n, ok := in[key].(json.Number); ok {
			out[key] = n
		}
	}
	for _, old := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} { // draft 4
		if on, _ := in[old[0]].(bool); on && out[old[1]] != nil {
			out[old[0]] = out[old[1]]
			delete(out, old[1])
		}
	}
	pattern, ok := in["pattern"].(string)
	if !ok || pattern == "" {
		return
	}
	if _, err := regexp.Compile(pattern); err == nil && strings.HasPrefix(pattern, "^") &&
		strings.HasSuffix(pattern, "$") {
		out["pattern"] = pattern
		return
	}
	if len(pattern) <= maxPatternText {
		text, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(text + " Pattern: " + pattern)
	}
}

// children lowers the schemas in an object or a list.
func (l *lowering) children(in, out map[string]any, depth int) {
	if members, ok := in["properties"].(map[string]any); ok {
		lower := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if child := l.node(members[name], depth+1); child != nil {
				lower[name] = child
			}
		}
		out["properties"] = lower
		if names := required(in, lower); len(names) > 0 {
			out["required"] = names
		}
	}
	switch more := in["additionalProperties"].(type) {
	case bool:
		out["additionalProperties"] = more
	case map[string]any:
		out["additionalProperties"] = orFalse(l.node(more, depth+1))
	}
	items := in["items"]
	if list, ok := in["prefixItems"].([]any); ok {
		items = list
	}
	switch items := items.(type) {
	case map[string]any:
		out["items"] = l.anyOf([]any{items}, depth)
	case []any: // one schema per position: here any of them
		out["items"] = l.anyOf(items, depth)
	}
}

// orFalse returns false for a schema that forbids everything.
func orFalse(n any) any {
	if n == nil {
		return false
	}
	return n
}

// required returns the required names that are properties.
func required(in, properties map[string]any) []string {
	list, _ := in["required"].([]any)
	var names []string
	for _, one := range list {
		name, _ := one.(string)
		if _, ok := properties[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// choices lowers anyOf and oneOf, and merges the parts of allOf.
func (l *lowering) choices(in, out map[string]any, depth int) {
	if parts, ok := in["allOf"].([]any); ok {
		for _, part := range parts {
			if n, ok := l.node(part, depth+1).(map[string]any); ok {
				join(out, n)
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := in[key].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		choice := l.anyOf(list, depth)
		if out["anyOf"] != nil && choice["anyOf"] != nil {
			continue // two choices at one position can't be combined here
		}
		join(out, choice)
	}
}

// anyOf returns a choice; a choice of one schema is that schema.
func (l *lowering) anyOf(list []any, depth int) map[string]any {
	var choices []any
	for _, one := range list {
		if n := l.node(one, depth+1); n != nil {
			choices = append(choices, n)
		}
	}
	switch len(choices) {
	case 0:
		return map[string]any{}
	case 1:
		return choices[0].(map[string]any)
	}
	return map[string]any{"anyOf": choices}
}

// join adds the constraints of another schema. Where both have one, the first stays.
func join(out, more map[string]any) {
	for key, v := range more {
		have, both := out[key]
		switch {
		case !both:
			out[key] = v
		case key == "properties":
			mine, theirs := have.(map[string]any), v.(map[string]any)
			for name, child := range theirs {
				if mine[name] == nil {
					mine[name] = child
				}
			}
		case key == "required":
			for _, name := range v.([]string) {
				if mine := out[key].([]string); !slices.Contains(mine, name) {
					out[key] = append(mine, name)
				}
			}
		}
	}
}

// object returns the top of a schema: an object with properties and without choices, which servers reject there. The
// choices of an object are merged into one, in which only names that all of them require are required.
func (l *lowering) object(n map[string]any) map[string]any {
	out := map[string]any{"type": "object", "properties": map[string]any{}}
	for _, key := range []string{"title", "description", "properties", "required", "additionalProperties"} {
		if v := n[key]; v != nil {
			out[key] = v
		}
	}
	choices, _ := n["anyOf"].([]any)
	properties := out["properties"].(map[string]any)
	var common []string
	for i, one := range choices {
		choice, _ := one.(map[string]any)
		theirs, _ := choice["properties"].(map[string]any)
		for name, child := range theirs {
			if properties[name] == nil {
				properties[name] = child
			}
		}
		names, _ := choice["required"].([]string)
		if i == 0 {
			common = names
		}
		common = slices.DeleteFunc(slices.Clone(common),
			func(name string) bool { return !slices.Contains(names, name) })
	}
	if len(common) > 0 {
		join(out, map[string]any{"required": common})
	}
	if len(choices) > 0 { // a member of another choice must be allowed
		delete(out, "additionalProperties")
	}
	return out
}
