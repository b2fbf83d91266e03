package tool

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// maxRefs is how many different references of a schema are looked up. The others forbid nothing.
const maxRefs = 1000

// resolve finds what all references mean, wherever in the schema that stands: $defs, definitions, or a sibling.
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

// children are the schemas directly within a schema.
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

// document is a schema's JSON, taken apart only where references lead, and once.
type document struct {
	root   json.RawMessage
	levels map[string]map[string]json.RawMessage // the members of objects, by the path to them
}

// pointed is what a JSON pointer such as #/$defs/Name leads to.
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

// members are those of an object, or the elements of a list by their numbers.
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
