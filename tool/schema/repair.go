package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Arguments reads a model's arguments: it decodes them, repairs unambiguous mistakes, adds defaults and checks the
// result. notes describe each repair for the model. The error is an *[Error] that lists all violations.
func (s *Schema) Arguments(raw json.RawMessage) (args json.RawMessage, notes []string, err error) {
	v, notes, err := s.Values(raw)
	if err != nil {
		return nil, nil, err
	}
	args, err = json.Marshal(v)
	return args, notes, err
}

// Values is like [Schema.Arguments], but returns decoded values. Numbers are json.Number.
func (s *Schema) Values(raw json.RawMessage) (map[string]any, []string, error) {
	r := &repairer{checker: &checker{Schema: s}}
	if fixed, ok := RepairJSON(raw); ok {
		raw = fixed
		r.note("", "had trailing commas, which are not valid JSON. They were removed.")
	}
	v, err := decodeArguments(raw)
	if err != nil {
		return nil, nil, err
	}
	v = r.repair(s.root, v, "", 0)
	violations := r.clashes
	again := map[Violation]bool{}
	(&checker{Schema: s}).check(s.root, v, "", 0, func(v Violation) {
		if !again[v] {
			again[v] = true
			violations = append(violations, v)
		}
	})
	if more := len(violations) - maxViolations; more > 0 {
		violations = append(violations[:maxViolations], Violation{"", fmt.Sprintf("and %d more", more)})
	}
	object, ok := v.(map[string]any)
	if !ok && len(violations) == 0 {
		violations = []Violation{{"", "expected an object, got " + describe(v)}}
	}
	if len(violations) > 0 {
		return nil, nil, &Error{Violations: violations}
	}
	return object, r.notes, nil
}

// maxViolations is the maximum number of violations in an error.
const maxViolations = 50

// decodeArguments reads JSON and keeps numbers as they were written.
func decodeArguments(raw json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("unexpected text after the first value")
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("unexpected end (possibly truncated)")
	}
	if err != nil {
		return nil, Invalid("", "the arguments are not valid JSON: %v\nSend one JSON object.", err)
	}
	if v == nil {
		return map[string]any{}, nil
	}
	return v, nil
}

// RepairJSON removes trailing commas from JSON that is invalid because of them. It reports false, and returns nothing,
// if raw is valid or has another error.
func RepairJSON(raw json.RawMessage) (json.RawMessage, bool) {
	if json.Valid(raw) {
		return nil, false
	}
	fixed := withoutTrailingCommas(raw)
	if len(fixed) == len(raw) || !json.Valid(fixed) {
		return nil, false
	}
	return fixed, true
}

// withoutTrailingCommas drops each comma that follows a value and precedes a closing bracket or the end.
func withoutTrailingCommas(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	comma := -1 // position in out of the last comma, while only whitespace follows it
	var last byte
	inString, escaped := false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			out = append(out, c)
			continue
		case c == ',' && last != ',' && last != '{' && last != '[' && last != 0:
			comma = len(out)
		default:
			if (c == '}' || c == ']') && comma >= 0 {
				out = slices.Delete(out, comma, comma+1)
			}
			comma = -1
			inString = c == '"'
		}
		last = c
		out = append(out, c)
	}
	if comma >= 0 {
		out = slices.Delete(out, comma, comma+1)
	}
	return out
}

// repairer fixes common mistakes of models, where only one meaning is possible.
type repairer struct {
	*checker
	notes   []string
	clashes []Violation // a parameter given under two names
}

func (r *repairer) note(at, format string, args ...any) {
	if at == "" {
		at = "the argument object"
	}
	r.notes = append(r.notes, at+" "+fmt.Sprintf(format, args...))
}

func (r *repairer) repair(n *node, v any, at string, depth int) any {
	n = r.follow(n)
	if n == nil || depth > maxDepth {
		return v
	}
	v = r.retype(n, v, at, depth)
	switch v := v.(type) {
	case json.Number:
		if slices.Contains(n.types, "integer") && isInteger(v) {
			return whole(v)
		}
	case map[string]any:
		return r.repairObject(n, v, at, depth)
	case []any:
		for i, item := range v {
			child := n.items
			if i < len(n.prefix) {
				child = n.prefix[i]
			}
			v[i] = r.repair(child, item, fmt.Sprintf("%s[%d]", at, i), depth+1)
		}
	}
	return v
}

func (r *repairer) repairObject(n *node, v map[string]any, at string, depth int) any {
	for _, name := range n.ignored {
		if _, given := v[name]; !given {
			continue
		}
		delete(v, name)
		if note := name + " is not a parameter of this tool and was ignored"; !slices.Contains(r.notes, note) {
			r.notes = append(r.notes, note)
		}
	}
	for _, name := range n.order {
		child := n.properties[name]
		for _, alias := range child.aliases {
			given, ok := v[alias]
			if !ok || n.properties[alias] != nil {
				continue
			}
			if v[name] != nil && given != nil {
				r.clashes = append(r.clashes, Violation{join(at, alias),
					fmt.Sprintf("is an alias of %s, which is also given. Pass only one of them.", name)})
			} else if given != nil {
				v[name] = given
				r.note(join(at, name), "was given as %s", alias)
			}
			delete(v, alias)
		}
		value, given := v[name]
		if given && value == nil && !slices.Contains(n.required, name) && !r.accepts(child, "null", 0) {
			delete(v, name)
			given = false
		}
		switch {
		case given:
			v[name] = r.repair(child, value, join(at, name), depth+1)
		case child.fallback != nil:
			if d, err := decodeArguments(child.fallback); err == nil && r.allows(child, d) {
				v[name] = d
			}
		}
	}
	return v
}

// retype converts a value of a wrong type to the only type that it can have been meant as.
func (r *repairer) retype(n *node, v any, at string, depth int) any {
	if r.fits(n, v) {
		return v
	}
	switch given := v.(type) {
	case string:
		if repaired, ok := r.fromString(n, given); ok {
			r.note(at, "was the string %s; read as %s", describe(given), describe(repaired))
			return repaired
		}
	case json.Number, bool:
		if r.accepts(n, "string", 0) {
			r.note(at, "was %s; read as the string %q", describe(given), fmt.Sprint(given))
			return fmt.Sprint(given)
		}
	}
	if _, isArray := v.([]any); !isArray && v != nil && n.items != nil && r.accepts(n, "array", 0) {
		inner := &repairer{checker: r.checker}
		item := inner.repair(n.items, v, at, depth+1)
		if r.fits(r.follow(n.items), item) {
			r.note(at, "was a single value; read as an array with one item")
			return []any{item}
		}
	}
	return v
}

var numeral = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)

func (r *repairer) fromString(n *node, s string) (any, bool) {
	t := strings.TrimSpace(s)
	switch lower := strings.ToLower(t); {
	case (lower == "true" || lower == "false") && r.accepts(n, "boolean", 0):
		return lower == "true", true
	case numeral.MatchString(t) && r.fits(n, json.Number(t)):
		if !r.accepts(n, "number", 0) {
			return whole(json.Number(t)), true
		}
		return json.Number(t), true
	case strings.HasPrefix(t, "{") || strings.HasPrefix(t, "["):
		raw := json.RawMessage(t)
		if fixed, ok := RepairJSON(raw); ok {
			raw = fixed
		}
		if v, err := decodeArguments(raw); err == nil && r.fits(n, v) {
			return v, true
		}
	}
	return nil, false
}

var typeOrder = []string{"null", "boolean", "string", "integer", "number", "array", "object"}

// fits reports whether the type of v is one that n accepts.
func (r *repairer) fits(n *node, v any) bool {
	for _, t := range typeOrder {
		if isType(v, t) && r.accepts(n, t, 0) {
			return true
		}
	}
	return false
}

// accepts reports whether n accepts a value of type t.
func (r *repairer) accepts(n *node, t string, depth int) bool {
	n = r.follow(n)
	if r.steps++; n == nil || depth > maxDepth || r.steps > maxSteps {
		return true
	}
	if len(n.types) > 0 && !slices.Contains(n.types, t) && !(t == "integer" && slices.Contains(n.types, "number")) {
		return false
	}
	for _, child := range n.allOf {
		if !r.accepts(child, t, depth+1) {
			return false
		}
	}
	for _, choice := range [][]*node{n.anyOf, n.oneOf} {
		if len(choice) > 0 && !slices.ContainsFunc(choice, func(c *node) bool { return r.accepts(c, t, depth+1) }) {
			return false
		}
	}
	return true
}
