package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// Error lists all invalid parameters of a call.
type Error struct {
	Tool       string // name of the tool, if known
	Violations []Violation
}

// Violation is one invalid parameter.
type Violation struct {
	Param  string // "limit", "edits[0].old_string"; "" for the arguments as a whole
	Reason string // "expected an integer, got \"many\""
}

func (v Violation) String() string {
	if v.Param == "" {
		return v.Reason
	}
	return v.Param + ": " + v.Reason
}

func (e *Error) Error() string {
	prefix := ""
	if e.Tool != "" {
		prefix = e.Tool + ": "
	}
	if len(e.Violations) == 1 {
		return prefix + e.Violations[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d invalid parameters:", prefix, len(e.Violations))
	for _, v := range e.Violations {
		b.WriteString("\n- " + v.String())
	}
	return b.String()
}

// Invalid returns an Error about one parameter.
func Invalid(param, format string, args ...any) error {
	return &Error{Violations: []Violation{{param, fmt.Sprintf(format, args...)}}}
}

// checker checks a value against a schema.
type checker struct {
	*Schema
	steps int
}

// maxSteps bounds the work on one call: a small external schema can refer to itself twice at every level. Values beyond
// the bound are not checked.
const maxSteps = 300_000

// check reports all violations of v. Numbers in v are json.Number.
func (s *checker) check(n *node, v any, at string, depth int, report func(Violation)) {
	n = s.follow(n)
	if s.steps++; n == nil || depth > maxDepth || s.steps > maxSteps {
		return
	}
	bad := func(format string, args ...any) { report(Violation{at, fmt.Sprintf(format, args...)}) }
	if n.nothing {
		bad("no value is allowed here")
		return
	}
	if !s.isTyped(n, v) {
		bad("expected %s, got %s", typeNames(n.types), describe(v))
		return
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(e any) bool { return sameValue(e, v) }) {
		bad("expected %s, got %s", enumNames(n.enum), describe(v))
	}
	switch v := v.(type) {
	case string:
		n.checkString(v, bad)
	case json.Number:
		n.checkNumber(v, bad)
	case []any:
		s.checkArray(n, v, at, depth, report)
	case map[string]any:
		s.checkObject(n, v, at, depth, report)
	}
	s.checkChoices(n, v, at, depth, report)
}

// allows reports whether v is valid at n.
func (s *checker) allows(n *node, v any) bool {
	ok := true
	s.check(n, v, "", 0, func(Violation) { ok = false })
	return ok
}

func (n *node) checkString(v string, bad func(string, ...any)) {
	length := utf8.RuneCountInString(v)
	switch {
	case n.minLength != nil && length < *n.minLength && length == 0:
		bad("must not be empty")
	case n.minLength != nil && length < *n.minLength:
		bad("must have at least %d characters, got %d", *n.minLength, length)
	case n.maxLength != nil && length > *n.maxLength:
		bad("must have at most %d characters, got %d", *n.maxLength, length)
	}
	if n.pattern != nil && !n.pattern.MatchString(v) {
		bad("must match the pattern %s, got %s", n.pattern, describe(v))
	}
}

func (n *node) checkNumber(v json.Number, bad func(string, ...any)) {
	f, err := v.Float64()
	if err != nil {
		bad("the number %s is out of range", v)
		return
	}
	switch {
	case n.minimum != nil && f < *n.minimum:
		bad("must be at least %v, got %s", *n.minimum, v)
	case n.maximum != nil && f > *n.maximum:
		bad("must be at most %v, got %s", *n.maximum, v)
	case n.above != nil && f <= *n.above:
		bad("must be more than %v, got %s", *n.above, v)
	case n.below != nil && f >= *n.below:
		bad("must be less than %v, got %s", *n.below, v)
	}
}

func (s *checker) checkArray(n *node, v []any, at string, depth int, report func(Violation)) {
	if n.minItems != nil && len(v) < *n.minItems {
		report(Violation{at, fmt.Sprintf("must have at least %s, got %d", humanize.Count(*n.minItems, "item"), len(v))})
	}
	if n.maxItems != nil && len(v) > *n.maxItems {
		report(Violation{at, fmt.Sprintf("must have at most %s, got %d", humanize.Count(*n.maxItems, "item"), len(v))})
	}
	for i, item := range v {
		child := n.items
		if i < len(n.prefix) {
			child = n.prefix[i]
		}
		s.check(child, item, fmt.Sprintf("%s[%d]", at, i), depth+1, report)
	}
}

func (s *checker) checkObject(n *node, v map[string]any, at string, depth int, report func(Violation)) {
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			report(Violation{join(at, name), "is required" + s.hint(n.properties[name])})
		}
	}
	for _, name := range n.order {
		if value, ok := v[name]; ok {
			s.check(n.properties[name], value, join(at, name), depth+1, report)
		}
	}
	for _, name := range sortedKeys(v) {
		if n.properties[name] != nil {
			continue
		}
		if n.closed {
			report(Violation{join(at, name), n.unknown(name)})
		} else if n.others != nil {
			s.check(n.others, v[name], join(at, name), depth+1, report)
		}
	}
}

// unknown returns the message for an unknown parameter, with the parameter that was probably meant.
func (n *node) unknown(name string) string {
	known := slices.DeleteFunc(slices.Clone(n.order), func(other string) bool { return n.properties[other].silent })
	near := nearest.Names(name, known)
	if near == nil {
		near = slices.DeleteFunc(slices.Clone(known), func(other string) bool { return !nearest.Part(name, other) })
	}
	if len(near) == 1 {
		return fmt.Sprintf("unknown parameter. Did you mean %q?", near[0])
	}
	if len(known) == 0 {
		return "unknown parameter (none expected)"
	}
	return "unknown parameter (expected " + strings.Join(known, ", ") + ")"
}

// hint describes a missing parameter.
func (s *checker) hint(n *node) string {
	n = s.follow(n)
	if n == nil || len(n.types) == 0 {
		return ""
	}
	return " (" + typeNames(n.types) + ")"
}

// checkChoices checks anyOf, oneOf and allOf. If no branch fits, it reports the violations of the closest one.
func (s *checker) checkChoices(n *node, v any, at string, depth int, report func(Violation)) {
	for _, child := range n.allOf {
		s.check(child, v, at, depth+1, report)
	}
	for _, choice := range [][]*node{n.anyOf, n.oneOf} {
		var nearest []Violation
		var distance int
		for i, child := range choice {
			var found []Violation
			s.check(child, v, at, depth+1, func(v Violation) { found = append(found, v) })
			if len(found) == 0 {
				nearest = nil
				break
			}
			far := len(found)
			if !s.isTyped(child, v) {
				far += maxSteps
			}
			if i == 0 || far < distance {
				nearest, distance = found, far
			}
		}
		for _, v := range nearest {
			report(v)
		}
	}
}

// isTyped reports whether v is of a type that n names.
func (s *checker) isTyped(n *node, v any) bool {
	n = s.follow(n)
	return n == nil || len(n.types) == 0 || slices.ContainsFunc(n.types, func(t string) bool { return isType(v, t) })
}

func isType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		return t == "number" || t == "integer" && isInteger(v)
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

// isInteger reports whether n is a whole number: 3, 3.0 and 3e2 are.
func isInteger(n json.Number) bool {
	if !strings.ContainsAny(string(n), ".eE") {
		return true
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt()
}

// whole writes an integer as Go reads one: 3 for 3.0.
func whole(n json.Number) json.Number {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() {
		return n
	}
	return json.Number(r.Num().String())
}

func sameValue(enum, v any) bool {
	if n, ok := v.(json.Number); ok {
		a, ok1 := new(big.Rat).SetString(string(n))
		f, ok2 := enum.(float64)
		return ok1 && ok2 && a.Cmp(new(big.Rat).SetFloat64(f)) == 0
	}
	switch v.(type) {
	case []any, map[string]any:
		a, _ := json.Marshal(enum)
		b, _ := json.Marshal(v)
		return string(a) == string(b)
	}
	return enum == v
}

func typeNames(types []string) string {
	named := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "integer", "array", "object":
			named = append(named, "an "+t)
		case "null":
			named = append(named, t)
		default:
			named = append(named, "a "+t)
		}
	}
	return strings.Join(named, " or ")
}

func enumNames(enum []any) string {
	if len(enum) == 1 {
		return describe(enum[0])
	}
	named := make([]string, len(enum))
	for i, e := range enum {
		named[i] = describe(e)
	}
	return "one of " + strings.Join(named, ", ")
}

// describe returns a value for a message, in bounded length.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return humanize.Shorten(compact(v), 60)
}

// compact writes a value as JSON without HTML escapes.
func compact(v any) string {
	text, err := humanize.JSON(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(text)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
