package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Schemas of servers, and the expected results, which were written by hand.
func TestLowered(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain stays", `{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"],"additionalProperties":false}`},
		{"nothing", `{}`, `{"type":"object","properties":{}}`},
		{"no JSON", `{`, `{"type":"object","properties":{}}`},
		{"not an object", `[1]`, `{"type":"object","properties":{}}`},
		{"true", `true`, `{"type":"object","properties":{}}`},
		{"false", `false`, `{"type":"object","properties":{}}`},
		{"PHP's empty object", `{"type":"object","properties":[]}`, `{"type":"object","properties":{}}`},
		{"another type at the top", `{"type":"string"}`, `{"type":"object","properties":{}}`},
		{"Gemini's types", `{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["STRING"]},"n":{"type":"INTEGER","nullable":true}}}`,
			`{"type":"object","properties":{"type":{"type":"string","enum":["STRING"]},"n":{"type":["integer","null"]}}}`},
		{"types of a language", `{"properties":{"a":{"type":"int"},"b":{"type":"any"},"c":{"type":"dict"},"d":{"type":7}}}`,
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{},"c":{"type":"object"},"d":{}}}`},
		{"$defs", `{"type":"object","properties":{"p":{"$ref":"#/$defs/Point","description":"where"}},"$defs":{"Point":{"type":"object","description":"a point","properties":{"x":{"type":"number"}}}}}`,
			`{"type":"object","properties":{"p":{"type":"object","description":"where","properties":{"x":{"type":"number"}}}}}`},
		{"definitions, and a pointer to a sibling", `{"type":"object","properties":{"a":{"$ref":"#/definitions/a~1b"},"c":{"$ref":"#/properties/d/items"},"d":{"type":"array","items":{"type":"boolean"}}},"definitions":{"a/b":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"boolean"},"d":{"type":"array","items":{"type":"boolean"}}}}`},
		{"the top is a reference", `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}`,
			`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`},
		{"a reference elsewhere", `{"properties":{"a":{"$ref":"https://example.com/s.json","description":"d"},"b":{"$ref":"#/nowhere"}}}`,
			`{"type":"object","properties":{"a":{"description":"d"},"b":{}}}`},
		{"a loop", `{"type":"object","properties":{"tree":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","description":"a tree","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/T"}}}}}}`,
			`{"type":"object","properties":{"tree":{"type":"object","description":"a tree","properties":{"kids":{"type":"array","items":{"type":"object","description":"a tree"}}}}}}`},
		{"a reference to itself", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false,"required":true}}}`,
			`{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0,"maximum":9}}}`},
		{"tuples", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"c":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"array","items":{}}}}`},
		{"patterns", `{"properties":{"a":{"type":"string","pattern":"^a+$"},"b":{"type":"string","pattern":"^(?=x).*$","description":"B."},"c":{"type":"string","pattern":"x[1-"},"d":{"pattern":5}}}`,
			`{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"},"b":{"type":"string","description":"B. Pattern: ^(?=x).*$"},"c":{"type":"string","description":"Pattern: x[1-"},"d":{}}}`},
		{"a choice of values", `{"properties":{"a":{"const":"x"},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"oneOf":[{"type":"integer"}]},"d":{"enum":[]}}}`,
			`{"type":"object","properties":{"a":{"enum":["x"]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"type":"integer"},"d":{}}}`},
		{"a choice at the top", `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false,"oneOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"number"},"k":{"type":"string"}},"required":["k","b"]}]}`,
			`{"type":"object","properties":{"id":{"type":"string"},"a":{"type":"string"},"b":{"type":"number"},"k":{"type":"string"}},"required":["id","k"]}`},
		{"all of", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/B"}],"$defs":{"B":{"properties":{"b":{"type":"string"}},"required":["b","a"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`},
		{"keywords that nobody knows", `{"type":"object","x-order":["a"],"properties":{"a":{"type":"string","x-ui":{"w":1},"unevaluatedProperties":7,"not":{"type":"null"},"if":{},"format":"color"}},"patternProperties":{"^x":{}},"required":["a","gone",3,"a"]}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"color"}},"required":["a"]}`},
		{"false within", `{"properties":{"a":false,"b":{"type":"object","additionalProperties":{"$ref":"#/properties/a"}}},"required":["a"]}`,
			`{"type":"object","properties":{"b":{"type":"object","additionalProperties":false}}}`},
		{"large numbers stay", `{"properties":{"a":{"type":"integer","maximum":12345678901234567890,"default":9007199254740993}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","maximum":12345678901234567890,"default":9007199254740993}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Lowered(json.RawMessage(c.in))
			if diff := cmp.Diff(read(t, c.want), read(t, string(got))); diff != "" {
				t.Error(diff)
			}
			if why := refused(read(t, string(got)), true); why != "" {
				t.Errorf("%s: %s", why, got)
			}
		})
	}
}

func read(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// refused says why a server would not take a schema: the rules of OpenAI's own, of llama.cpp and of the strictest that
// took over the wire.
func refused(v any, top bool) string {
	n, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("%v is no schema", v)
	}
	known := []string{"type", "title", "description", "format", "default", "enum", "properties", "required", "additionalProperties", "items", "anyOf",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"}
	for key, member := range n {
		if !slices.Contains(known, key) {
			return "the keyword " + key
		}
		if strings.Contains("minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems", key) {
			if _, ok := member.(json.Number); !ok {
				return key + " is no number"
			}
		}
	}
	if top && (n["type"] != "object" || n["properties"] == nil || n["anyOf"] != nil || n["enum"] != nil) {
		return "the top is not a plain object"
	}
	if n["type"] == "array" && n["items"] == nil {
		return "an array without items"
	}
	properties, _ := n["properties"].(map[string]any)
	names, _ := n["required"].([]any)
	for _, name := range names {
		if s, ok := name.(string); !ok || properties[s] == nil {
			return fmt.Sprintf("required %v is no property", name)
		}
	}
	for _, child := range properties {
		if why := refused(child, false); why != "" {
			return why
		}
	}
	if items, ok := n["items"]; ok {
		if why := refused(items, false); why != "" {
			return why
		}
	}
	choices, _ := n["anyOf"].([]any)
	if _, ok := n["anyOf"]; ok && len(choices) < 2 {
		return "a choice of less than two"
	}
	for _, choice := range choices {
		if why := refused(choice, false); why != "" {
			return why
		}
	}
	if more, ok := n["additionalProperties"].(map[string]any); ok {
		return refused(more, false)
	}
	return ""
}

// A schema of a few hundred bytes that unfolds without end costs bounded time and space.
func TestLoweredIsBounded(t *testing.T) {
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"},"c":{"$ref":"#/$defs/d%d"}}}`, i, (i+1)%40, (i+2)%40, (i+7)%40))
	}
	deep := strings.Repeat(`{"properties":{"a":`, 5000) + `{}` + strings.Repeat(`}}`, 5000)
	for _, in := range []string{`{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`, deep, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`} {
		began := time.Now()
		got := Lowered(json.RawMessage(in))
		if took := time.Since(began); took > time.Minute || len(got) > 2<<20 {
			t.Errorf("%.80s: %d bytes in %s", in, len(got), took)
		}
		if why := refused(read(t, string(got)), true); why != "" {
			t.Errorf("%.80s: %s", in, why)
		}
	}
}

func FuzzLowered(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"type":["string","null"]}]}}}`)
	f.Add(`{"allOf":[{"required":["a"]},{"properties":{"a":false},"oneOf":[{"enum":[1]},{"const":2}]}],"items":[true,false]}`)
	f.Add(`{"anyOf":[{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}},"required":["a"]},{}],"additionalProperties":{"$ref":"#/anyOf/0"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := Lowered(json.RawMessage(text))
		if why := refused(read(t, string(got)), true); why != "" {
			t.Fatalf("%s: %s", why, got)
		}
		if again := Lowered(json.RawMessage(text)); string(again) != string(got) {
			t.Fatalf("two ways:\n%s\n%s", got, again)
		}
	})
}
