// Package schema reads JSON Schemas of tool parameters, writes them for Go structs, and checks a model's arguments
// against them. Arguments that have one possible meaning are repaired, and each repair is reported.
package schema

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Schema is a JSON Schema that arguments are checked against. It knows the keywords that tools use. Unknown keywords
// are ignored, so that an external tool with one still works.
type Schema struct {
	root *node
	refs map[string]*node // targets of references within the schema
}

// node is one schema, or a schema within it.
type node struct {
	nothing     bool // the schema "false"
	ref         string
	types       []string // empty: any
	description string
	properties  map[string]*node
	order       []string // of properties, as written
	required    []string
	closed      bool // no other properties
	others      *node
	items       *node
	prefix      []*node
	enum        []any
	anyOf       []*node
	oneOf       []*node
	allOf       []*node
	minimum     *float64
	maximum     *float64
	above       *float64
	below       *float64
	minLength   *int
	maxLength   *int
	minItems    *int
	maxItems    *int
	pattern     *regexp.Regexp
	fallback    json.RawMessage // the default
	aliases     []string        // other names of this parameter; not part of JSON Schema
	silent      bool            // accepted, and not declared; not part of JSON Schema
	ignored     []string        // names of parameters that are accepted without effect; not part of JSON Schema
}

// Parse reads the JSON Schema of an object. An empty one accepts every object.
func Parse(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	root, err := parseNode(raw, 0)
	if err != nil {
		return nil, fmt.Errorf("read parameter schema: %w", err)
	}
	if len(root.types) == 0 {
		root.types = []string{"object"}
	}
	if !slices.Contains(root.types, "object") {
		return nil, fmt.Errorf("read parameter schema: type is %s, not object", strings.Join(root.types, " or "))
	}
	s := &Schema{root: root, refs: map[string]*node{}}
	s.resolve(raw)
	return s, nil
}

type nodeJSON struct {
	Ref         any             `json:"$ref"`
	Type        json.RawMessage `json:"type"`
	Nullable    any             `json:"nullable"`
	Description any             `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Required    any             `json:"required"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Items       json.RawMessage `json:"items"`
	PrefixItems json.RawMessage `json:"prefixItems"`
	Enum        any             `json:"enum"`
	Const       json.RawMessage `json:"const"`
	Patterns    json.RawMessage `json:"patternProperties"`
	AnyOf       json.RawMessage `json:"anyOf"`
	OneOf       json.RawMessage `json:"oneOf"`
	AllOf       json.RawMessage `json:"allOf"`
	Minimum     any             `json:"minimum"`
	Maximum     any             `json:"maximum"`
	Above       any             `json:"exclusiveMinimum"`
	Below       any             `json:"exclusiveMaximum"`
	MinLength   any             `json:"minLength"`
	MaxLength   any             `json:"maxLength"`
	MinItems    any             `json:"minItems"`
	MaxItems    any             `json:"maxItems"`
	Pattern     any             `json:"pattern"`
	Default     json.RawMessage `json:"default"`
}

// maxDepth bounds the depth of schemas and references: external ones may loop.
const maxDepth = 64

func parseNode(raw json.RawMessage, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	var plain bool
	if json.Unmarshal(raw, &plain) == nil {
		return &node{nothing: !plain}, nil
	}
	var in nodeJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	n := &node{
		types: parseTypes(in.Type, in.Nullable), required: parseNames(in.Required),
		minimum: parseFloat(in.Minimum), maximum: parseFloat(in.Maximum), above: parseFloat(in.Above),
		below:     parseFloat(in.Below),
		minLength: parseInt(in.MinLength), maxLength: parseInt(in.MaxLength), minItems: parseInt(in.MinItems),
		maxItems: parseInt(in.MaxItems),
	}
	if string(in.Default) != "null" { // some generators write null for no default
		n.fallback = in.Default
	}
	n.description, _ = in.Description.(string)
	n.ref, _ = in.Ref.(string)
	n.enum, _ = in.Enum.([]any)
	n.exclude(in)
	if len(in.Const) > 0 {
		n.enum = make([]any, 1)
		if err := json.Unmarshal(in.Const, &n.enum[0]); err != nil {
			return nil, err
		}
	}
	if p, ok := in.Pattern.(string); ok {
		// A pattern in another regexp dialect is ignored; the tool is kept.
		n.pattern, _ = regexp.Compile(p)
	}
	n.parseChildren(in, depth+1)
	return n, nil
}

// parseChildren reads the schemas within a schema. An invalid one is ignored.
func (n *node) parseChildren(in nodeJSON, depth int) {
	n.properties, n.order = parseProperties(in.Properties, depth)
	switch {
	case len(in.Patterns) > 0: // patternProperties isn't supported, so additional properties are unknown
		n.others = &node{}
	case len(in.Additional) > 0:
		n.others = parseChild(in.Additional, depth)
		n.closed = n.others.nothing
	}
	if len(in.Items) > 0 && in.Items[0] == '[' { // draft-07's spelling of prefixItems
		in.PrefixItems = in.Items
	} else if len(in.Items) > 0 {
		n.items = parseChild(in.Items, depth)
	}
	for _, list := range []struct {
		raw json.RawMessage
		out *[]*node
	}{{in.PrefixItems, &n.prefix}, {in.AnyOf, &n.anyOf}, {in.OneOf, &n.oneOf}, {in.AllOf, &n.allOf}} {
		var members []json.RawMessage
		if len(list.raw) == 0 || json.Unmarshal(list.raw, &members) != nil {
			continue
		}
		for _, raw := range members {
			*list.out = append(*list.out, parseChild(raw, depth))
		}
	}
}

// parseChild reads a schema within another. An invalid one accepts everything.
func parseChild(raw json.RawMessage, depth int) *node {
	n, err := parseNode(raw, depth)
	if err != nil {
		return &node{}
	}
	return n
}

// exclude reads the limits of draft 4, where exclusiveMinimum and exclusiveMaximum are booleans.
func (n *node) exclude(in nodeJSON) {
	if in.Above == true {
		n.above, n.minimum = n.minimum, nil
	}
	if in.Below == true {
		n.below, n.maximum = n.maximum, nil
	}
}

func parseProperties(raw json.RawMessage, depth int) (map[string]*node, []string) {
	var byName map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &byName) != nil {
		return nil, nil
	}
	properties := map[string]*node{}
	for name, raw := range byName {
		properties[name] = parseChild(raw, depth)
	}
	return properties, keysInOrder(raw)
}

// keysInOrder lists the keys of a JSON object as written, so that messages name parameters in the order of their
// declaration.
func keysInOrder(raw json.RawMessage) []string {
	var keys []string
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.Token()
	for d.More() {
		t, err := d.Token()
		if err != nil {
			break
		}
		if key, ok := t.(string); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			break
		}
	}
	return keys
}

func parseTypes(raw json.RawMessage, nullable any) []string {
	var one string
	var many []string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		many = []string{one}
	} else if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	for i, t := range many {
		many[i] = strings.ToLower(t) // Gemini writes STRING
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, many[i]) {
			return nil // an unknown type: accept any
		}
	}
	if nullable == true && len(many) > 0 {
		many = append(many, "null")
	}
	return many
}

func parseNames(v any) []string {
	list, _ := v.([]any)
	var names []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

func parseFloat(v any) *float64 {
	if f, ok := v.(float64); ok {
		return &f
	}
	return nil
}

func parseInt(v any) *int {
	if f, ok := v.(float64); ok {
		n := int(f)
		return &n
	}
	return nil
}

// follow returns the node that a reference points to.
func (s *Schema) follow(n *node) *node {
	for range maxDepth {
		switch {
		case n == nil || n.ref == "":
			return n
		case n.ref == "#":
			n = s.root
		case s.refs[n.ref] != nil:
			n = s.refs[n.ref]
		default:
			return &node{} // an external reference accepts everything
		}
	}
	return &node{}
}

// maxRefs is the maximum number of different references in a schema that are resolved. The others accept everything.
const maxRefs = 1000

// resolve finds the targets of all references: in $defs, definitions, or anywhere else in the schema.
func (s *Schema) resolve(raw json.RawMessage) {
	doc := &document{raw, map[string]map[string]json.RawMessage{}}
	open := []*node{s.root}
	for len(open) > 0 && len(s.refs) < maxRefs {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		open = append(open, n.children()...)
		if n.ref == "" || n.ref == "#" || s.refs[n.ref] != nil {
			continue
		}
		if found, ok := doc.pointed(n.ref); ok {
			s.refs[n.ref] = parseChild(found, 0)
			open = append(open, s.refs[n.ref])
		}
	}
}

// children returns the schemas directly within a schema.
func (n *node) children() []*node {
	var all []*node
	for _, child := range n.properties {
		all = append(all, child)
	}
	for _, child := range []*node{n.others, n.items} {
		if child != nil {
			all = append(all, child)
		}
	}
	for _, list := range [][]*node{n.prefix, n.anyOf, n.oneOf, n.allOf} {
		all = append(all, list...)
	}
	return all
}

// document is the JSON of a schema. Only the parts that references point to are decoded, each once.
type document struct {
	root   json.RawMessage
	levels map[string]map[string]json.RawMessage // the members of objects, by the path to them
}

// pointed returns the value at a JSON pointer such as #/$defs/Name.
func (d *document) pointed(ref string) (json.RawMessage, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at, here := d.root, ""
	for step := range strings.SplitSeq(path, "/") {
		members := d.members(here, at)
		here += "/" + step
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		if at, ok = members[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]; !ok {
			return nil, false
		}
	}
	return at, true
}

// members returns the members of an object, or the elements of a list by index.
func (d *document) members(path string, raw json.RawMessage) map[string]json.RawMessage {
	if known, ok := d.levels[path]; ok {
		return known
	}
	var members map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(raw, &members) != nil && json.Unmarshal(raw, &items) == nil {
		members = map[string]json.RawMessage{}
		for i, item := range items {
			members[strconv.Itoa(i)] = item
		}
	}
	d.levels[path] = members
	return members
}

// Strict returns a schema that rejects unknown parameters, unless the schema says otherwise.
func (s *Schema) Strict() *Schema {
	root := *s.root
	choices := len(root.anyOf) + len(root.oneOf) + len(root.allOf)
	if root.others == nil && root.properties != nil && choices == 0 && root.ref == "" {
		root.closed = true
	}
	return &Schema{root: &root, refs: s.refs}
}
