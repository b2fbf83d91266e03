package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// TestAgreesWithReference holds our checker against a full one, on random schemas of the keywords we know. Where we
// differ on purpose, the schemas are made so that it does not show:
//
//   - oneOf: we take a value that fits several branches, so branches here have their own types;
//   - $ref: what is beside one is not looked at, and only pointers within the schema are followed;
//   - enum of arrays and objects: numbers within are compared as they are written;
//   - a reference that leads back to itself overflows the stack of the reference, so there is none;
//   - keywords we do not know forbid nothing; a schema without a type at the root is one of an object.
func TestAgreesWithReference(t *testing.T) {
	serial.Test(t)
	valid, checked := 0, 0
	for seed := range uint64(soak.Count(200, 5000)) {
		g := &maker{rand.New(rand.NewPCG(seed, 11))}
		raw, err := json.Marshal(map[string]any{
			"type": "object", "properties": map[string]any{"v": g.schema(3)}, "required": []string{"v"},
			"$defs": map[string]any{
				"x": map[string]any{"type": "string", "maxLength": 2},
				"y": map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/y"}, "b": map[string]any{"$ref": "#/$defs/x"}}, "maximum": 3},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		theirs := reference(t, raw)
		for range 20 {
			value, err := json.Marshal(map[string]any{"v": g.value(3)})
			if err != nil {
				t.Fatal(err)
			}
			v, err := decodeArguments(value)
			if err != nil {
				t.Fatal(err)
			}
			var plain any
			if err := json.Unmarshal(value, &plain); err != nil {
				t.Fatal(err)
			}
			complaint := theirs.Validate(plain)
			if got := (&checker{Schema: ours}).allows(ours.root, v); got != (complaint == nil) {
				t.Fatalf("seed %d: %s\nagainst %s\nwe say %t, the reference says %v", seed, value, raw, got, complaint)
			}
			checked++
			if complaint == nil {
				valid++
			}
		}
	}
	if valid < checked/10 || valid > checked*9/10 {
		t.Errorf("of %d values %d are valid: a test of little", checked, valid)
	}
}

func reference(t *testing.T, raw []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return resolved
}

// maker makes schemas, and values that may match them.
type maker struct{ *rand.Rand }

var simpleTypes = []string{"null", "boolean", "string", "integer", "number", "array", "object"}

func (g *maker) schema(depth int) any {
	if n := g.IntN(20); n == 0 {
		return true
	} else if n == 1 {
		return map[string]any{"$ref": []string{"#/$defs/x", "#/$defs/y"}[g.IntN(2)]}
	}
	s := map[string]any{}
	switch g.IntN(6) {
	case 0:
	case 1:
		s["type"] = []string{simpleTypes[g.IntN(3)], simpleTypes[3+g.IntN(4)]}
	default:
		s["type"] = simpleTypes[g.IntN(len(simpleTypes))]
	}
	g.bounds(s)
	if depth == 0 {
		return s
	}
	if g.IntN(3) == 0 {
		s["properties"] = map[string]any{"a": g.schema(depth - 1), "b": g.schema(depth - 1)}
		if g.IntN(2) == 0 {
			s["required"] = []string{[]string{"a", "c"}[g.IntN(2)]}
		}
		if g.IntN(2) == 0 {
			s["additionalProperties"] = []any{false, true, g.schema(0)}[g.IntN(3)]
		}
	}
	if g.IntN(3) == 0 {
		s["items"] = g.schema(depth - 1)
		if g.IntN(3) == 0 {
			s["prefixItems"] = []any{g.schema(depth - 1)}
		}
	}
	switch g.IntN(8) {
	case 0:
		s["anyOf"] = []any{g.schema(depth - 1), g.schema(depth - 1)}
	case 1:
		s["allOf"] = []any{g.schema(depth - 1), g.schema(0)}
	case 2:
		s["oneOf"] = []any{map[string]any{"type": "string", "minLength": g.IntN(3)}, map[string]any{"type": "object"}, map[string]any{"type": "number", "minimum": g.IntN(3)}}
	}
	return s
}

func (g *maker) bounds(s map[string]any) {
	if g.IntN(3) > 0 {
		return
	}
	keywords := []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
	for range 1 + g.IntN(2) {
		s[keywords[g.IntN(len(keywords))]] = g.IntN(4)
	}
	switch g.IntN(6) {
	case 0:
		s["pattern"] = []string{"^a", "b$", "[0-9]"}[g.IntN(3)]
	case 1:
		s["enum"] = []any{g.value(0), g.value(0), nil, "a"}
	case 2:
		s["const"] = g.value(0)
	}
}

func (g *maker) value(depth int) any {
	n := 10
	if depth == 0 {
		n = 7
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2, 3:
		return []string{"", "a", "ab", "ba1", "日本", "1"}[g.IntN(6)]
	case 4, 5:
		return g.IntN(5)
	case 6:
		return json.Number([]string{"1.5", "2.0", "-1", "1e1", "300e-2"}[g.IntN(5)])
	case 7, 8:
		m := map[string]any{}
		for _, k := range []string{"a", "b", "c"} {
			if g.IntN(2) == 0 {
				m[k] = g.value(depth - 1)
			}
		}
		return m
	default:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	}
}

// Repair never panics, its result passes the check, and has nothing more to repair.
func FuzzArguments(f *testing.F) {
	schemas := fuzzSchemas(f)
	for i := range schemas {
		f.Add(byte(i), []byte(`{"file_path":12,"limit":"3","all":"true","names":"a","at":"{\"line\":\"1\"}","spots":{"row":2.0}}`))
		f.Add(byte(i), []byte(`{"a":"[1,2]","b":null,"c":{"a":1},"path":"p","filename":null}`))
	}
	for _, s := range []string{`"{}"`, `[`, `{"a":1e999}`, "", "null", `{"limit":5.0,"limit":"6"}`, `{"names":[[["x"]]]}`, `{"a":"-0.0"}`} {
		f.Add(byte(0), []byte(s))
		f.Add(byte(3), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		s := schemas[int(which)%len(schemas)]
		args, notes, err := s.Arguments(raw)
		if err != nil {
			if _, ok := err.(*Error); !ok || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("an error of type %T: %v", err, err)
			}
			return
		}
		v, err := decodeArguments(args)
		if err != nil {
			t.Fatalf("%q became %s: %v", raw, args, err)
		}
		(&checker{Schema: s}).check(s.root, v, "", 0, func(v Violation) { t.Errorf("%q became %s: %v", raw, args, v) })
		again, more, err := s.Arguments(args)
		if err != nil || string(again) != string(args) || len(more) > 0 {
			t.Fatalf("%q became %s (%q), and that %s (%q, %v)", raw, args, notes, again, more, err)
		}
	})
}

func fuzzSchemas(f *testing.F) []*Schema {
	var out []*Schema
	for _, raw := range []string{
		`{"type":"object","properties":{"file_path":{"type":"string"},"limit":{"type":"integer","minimum":1,"default":3},"all":{"type":"boolean"},"names":{"type":"array","items":{"type":"string"}},"at":{"type":"object","properties":{"line":{"type":"integer"}}},"spots":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer"}},"additionalProperties":false}}},"required":["file_path"],"additionalProperties":false}`,
		`{"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}},"properties":{"a":{"$ref":"#/$defs/l"},"b":{"$ref":"#"}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"number"}}]},"b":{"type":["string","null"]},"c":{"oneOf":[{"type":"boolean"},{"const":3}]}}}`,
		`{"properties":{"a":{"type":["number","object"],"maximum":9},"b":{"type":"array","items":[{"type":"integer"},{"type":"string"}]},"c":{"type":"string","enum":["1","true"],"default":"x"}}}`,
	} {
		s, err := Parse(json.RawMessage(raw))
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, s)
	}
	if p := out[0].root.properties; p != nil {
		p["file_path"].aliases = []string{"path", "filename"}
		p["spots"].items.properties["line"].aliases = []string{"row"}
	}
	return out
}
