package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool/schema"
)

// verdict returns the result of a schema for arguments: the repaired arguments, or the errors.
func verdict(t *testing.T, text, args string) string {
	t.Helper()
	s, err := schema.Parse(json.RawMessage(text))
	if err != nil {
		return "unreadable: " + err.Error()
	}
	out, notes, err := s.Arguments(json.RawMessage(args))
	if err != nil {
		return err.Error()
	}
	return strings.Join(append([]string{string(out)}, notes...), "; ")
}

func TestSchemaKeywords(t *testing.T) {
	for _, tt := range []struct{ schema, args, want string }{
		{``, `{"a":1}`, `{"a":1}`},
		{`null`, ``, `{}`},
		{`{}`, `{"a":[{}]}`, `{"a":[{}]}`},
		{`true`, `{"a":1}`, `{"a":1}`},
		{`{"type":"string"}`, ``, "unreadable: read parameter schema: type is string, not object"},
		{`[]`, ``, "unreadable: read parameter schema: json: cannot unmarshal array into Go value of type schema.nodeJSON"},
		// Types in several spellings.
		{`{"properties":{"a":{"type":"STRING"}}}`, `{"a":1}`, `{"a":"1"}; a was 1; read as the string "1"`},
		{`{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":null}`, `{"a":null}`},
		{`{"properties":{"a":{"type":"integer","nullable":true}}}`, `{"a":null}`, `{"a":null}`},
		{`{"properties":{"a":{"type":["integer","string"]}}}`, `{"a":"1"}`, `{"a":"1"}`},
		{`{"properties":{"a":{"type":"null"}}}`, `{"a":1}`, "a: expected null, got 1"},
		// Booleans as schemas.
		{`{"properties":{"a":false,"b":true}}`, `{"a":1,"b":2}`, "a: no value is allowed here"},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1,"b":2}`, `b: unknown parameter (expected a)`},
		{`{"additionalProperties":false}`, `{"b":2}`, `b: unknown parameter (none expected)`},
		{`{"additionalProperties":{"type":"integer"}}`, `{"b":2,"c":[]}`, `c: expected an integer, got an array`},
		{`{"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`, `{"x-a":1}`, `{"x-a":1}`},
		// Choices.
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"object","required":["b","c"]}]}}}`, `{"a":{"b":1}}`, "a.c: is required"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"a":"3"}`, `{"a":3}; a was the string "3"; read as 3`},
		{`{"properties":{"a":{"oneOf":[{"const":"x"},{"const":"y"}]}}}`, `{"a":"z"}`, `a: expected "x", got "z"`},
		{`{"properties":{"a":{"allOf":[{"minimum":3},{"maximum":5}]}}}`, `{"a":7}`, "a: must be at most 5, got 7"},
		{`{"properties":{"a":{"const":null}}}`, `{"a":1}`, "a: expected null, got 1"},
		{`{"properties":{"a":{"enum":[1,"x",null,[1],{"b":2}]}}}`, `{"a":1.0}`, `{"a":1.0}`},
		{`{"properties":{"a":{"enum":[1,"x",null,[1],{"b":2}]}}}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"properties":{"a":{"enum":[1,"x",null,[1],{"b":2}]}}}`, `{"a":[2]}`, `a: expected one of 1, "x", null, an array, an object, got an array`},
		// References.
		{`{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, `a: expected an integer, got "x"`},
		{`{"definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`, `{"a":"4"}`, `{"a":4}; a was the string "4"; read as 4`},
		{`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, `a.a.b: unknown parameter (expected a)`},
		{`{"properties":{"a":{"$ref":"https://example.org/x.json"}}}`, `{"a":1}`, `{"a":1}`},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, `{"a":1}`, `{"a":1}`},
		{`{"$ref":"#"}`, `{"a":1}`, `{"a":1}`},
		{`{"properties":{"a":{"$ref":"#/properties/b/items"},"b":{"items":{"type":"boolean"}}}}`, `{"a":"x"}`, `a: expected a boolean, got "x"`},
		{`{"properties":{"a":{"$ref":"#/$defs/p~1q%20r"}},"$defs":{"p/q r":{"anyOf":[{"$ref":"#/$defs/list/oneOf/1"}]},"list":{"oneOf":[{},{"type":"integer"}]}}}`, `{"a":[]}`, `a: expected an integer, got an array`},
		{`{"$ref":"#/$defs/in","$defs":{"in":{"properties":{"q":{"type":"integer"}},"required":["q"]}}}`, `{}`, `q: is required (an integer)`},
		{`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":1}`, `{"a":1}`},
		// Arrays by position, in both spellings.
		{`{"properties":{"a":{"items":[{"type":"integer"},{"type":"string"}]}}}`, `{"a":["1",2,3]}`, `{"a":[1,"2",3]}; a[0] was the string "1"; read as 1; a[1] was 2; read as the string "2"`},
		{`{"properties":{"a":{"prefixItems":[{"type":"integer"}],"items":{"type":"boolean"}}}}`, `{"a":[1,2]}`, `a[1]: expected a boolean, got 2`},
		// Limits.
		{`{"properties":{"a":{"exclusiveMinimum":1,"exclusiveMaximum":2}}}`, `{"a":1}`, "a: must be more than 1, got 1"},
		{`{"properties":{"a":{"exclusiveMaximum":2}}}`, `{"a":2}`, "a: must be less than 2, got 2"},
		{`{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":1}`, `a: must be more than 1, got 1`}, // draft 4
		{`{"properties":{"a":{"maximum":1,"exclusiveMaximum":false}}}`, `{"a":1}`, `{"a":1}`},
		{`{"properties":{"a":{"minLength":2}}}`, `{"a":"日"}`, "a: must have at least 2 characters, got 1"},
		{`{"properties":{"a":{"pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, `a: must match the pattern ^[a-z]+$, got "A"`},
		{`{"properties":{"a":{"pattern":"^(?!x)"}}}`, `{"a":"x"}`, `{"a":"x"}`}, // which Go cannot compile
		{`{"properties":{"a":{"type":"number"}}}`, `{"a":1e999}`, "a: the number 1e999 is out of range"},
		// Defaults.
		{`{"properties":{"a":{"default":{"b":[1]}}}}`, `{}`, `{"a":{"b":[1]}}`},
		{`{"properties":{"a":{"type":"string","default":null}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"type":"integer","default":"none"}}}`, `{}`, `{}`},
		// Unknown keywords are ignored.
		{`{"properties":{"a":{"format":"date","not":{},"if":{},"multipleOf":7,"uniqueItems":true}}}`, `{"a":[1,1]}`, `{"a":[1,1]}`},
		{`{"properties":{"a":{"type":"any"},"b":{"type":["null","str"]},"c":{"type":7}}}`, `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`},
		// Invalid parts of a schema are ignored.
		{`{"properties":{"a":{"enum":"x","$ref":7,"anyOf":{},"nullable":"no","items":3,"properties":[],"$defs":[]},"b":{"type":"integer"}}}`, `{"a":1,"b":"x"}`, `b: expected an integer, got "x"`},
		{`{"properties":{"a":"string","b":[1],"c":{"type":"integer"}}}`, `{"a":1,"b":2,"c":"x"}`, `c: expected an integer, got "x"`},
		{`{"properties":[]}`, `{"a":1}`, `{"a":1}`},
		{`{"required":"a","properties":{"a":{"minimum":"x","minLength":null,"pattern":1,"description":{}}}}`, `{"a":1}`, `{"a":1}`},
	} {
		if got := verdict(t, tt.schema, tt.args); got != tt.want {
			t.Errorf("%s of %s:\n got %s\nwant %s", tt.schema, tt.args, got, tt.want)
		}
	}
}

// A malicious external schema must not take forever.
func TestSchemaBombs(t *testing.T) {
	serial.Test(t)
	chain := func(keyword string) string {
		var defs []string
		for i := range 60 {
			defs = append(defs, fmt.Sprintf(`"d%d":{"required":["x"],"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
		}
		return `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	}
	deep := strings.Repeat(`{"properties":{"a":`, 40_000) + "{}" + strings.Repeat("}}", 40_000)
	for name, schema := range map[string]string{
		"allOf of itself":   `{"properties":{"a":{"allOf":[{"$ref":"#/properties/a"},{"$ref":"#"},{"$ref":"#"}]}},"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"anyOf of itself":   `{"required":["x"],"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"a chain of allOf":  chain("allOf"),
		"a chain of anyOf":  chain("anyOf"),
		"a chain of oneOf":  chain("oneOf"),
		"a deep one":        deep,
		"a list of a list…": `{"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}},"properties":{"a":{"$ref":"#/$defs/l"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan string, 1)
			go func() { done <- verdict(t, schema, `{"a":{"b":"1"}}`) }()
			select {
			case got := <-done:
				if len(got) > 10_000 {
					t.Errorf("a verdict of %d bytes", len(got))
				}
			case <-time.After(time.Minute):
				t.Fatal("not done after a minute")
			}
		})
	}
}
