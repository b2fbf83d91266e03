package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func resultSchema(t *testing.T, text string) *ResultSchema {
	t.Helper()
	s, err := ParseResultSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const countSchema = `{"type":"object","additionalProperties":false,"required":["files"],"properties":{
	"files":{"type":"integer","description":"How many."},"kind":{"type":["string","null"],"description":"Which."}}}`

func TestStructuredOutput(t *testing.T) {
	build := func(string) tool.Tool { return structuredOutput(&result{schema: resultSchema(t, countSchema)}) }
	tooltest.Check(t, build, tooltest.Try{Args: `{"files":3}`}, tooltest.Try{Args: `{"files":"many"}`, Fails: true})

	s, err := New(Options{Dir: t.TempDir(), Session: true, Result: resultSchema(t, countSchema)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	x := executor(s)
	if o := call(t, x, StructuredOutput, args{"kind": "go"}); o.Error == nil || o.Error.Type != tool.InvalidParams || s.Structured() != nil {
		t.Errorf("%+v, %s", o.Error, s.Structured())
	}
	// The first of two valid calls wins, also in one turn.
	batch := x.Batch(t.Context())
	batch.Add(tool.Call{ID: "1", Name: StructuredOutput, Args: json.RawMessage(`{"files":"3","kind":null}`)})
	batch.Add(tool.Call{ID: "2", Name: StructuredOutput, Args: json.RawMessage(`{"files":4}`)})
	out := batch.Wait()
	if out[0].Status != tool.StatusSuccess || out[1].Status != tool.StatusError || !strings.HasPrefix(string(s.Structured()), `{"files":3`) {
		t.Errorf("%v, %v, %s", out[0].Status, out[1].Status, s.Structured())
	}
}

// Keywords that the check of parameters doesn't know are enforced too.
func TestStructuredOutputKeywords(t *testing.T) {
	for _, tt := range []struct{ schema, good, bad string }{
		{`{"properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":2}`, `{"a":1}`},
		{`{"properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"a":[1,2]}`, `{"a":[1,1]}`},
		{`{"properties":{"a":{"multipleOf":5}}}`, `{"a":10}`, `{"a":11}`},
		{`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`{"$ref":"#/$defs/r","$defs":{"r":{"type":"object","required":["x"]}}}`, `{"x":1}`, `{}`},
		{`{"type":"object","minProperties":1}`, `{"x":1}`, `{}`},
		{`{"patternProperties":{"^n":{"type":"integer"}}}`, `{"n1":1}`, `{"n1":true}`},
	} {
		r := structuredOutput(&result{schema: resultSchema(t, tt.schema)})
		if _, err := r.Prepare(t.Context(), json.RawMessage(tt.good)); err != nil {
			t.Errorf("%s rejects %s: %v", tt.schema, tt.good, err)
		}
		if _, err := r.Prepare(t.Context(), json.RawMessage(tt.bad)); err == nil {
			t.Errorf("%s accepts %s", tt.schema, tt.bad)
		}
		if p := string(r.Declaration().Parameters); !strings.Contains(p, `"type":"object"`) {
			t.Errorf("declared %s", p)
		}
	}
}

func TestResultSchemaErrors(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	for text, want := range map[string]string{
		``:                                      "not valid JSON",
		`{`:                                     "not valid JSON",
		`true`:                                  "not an object",
		`[]`:                                    "not an object",
		`{"type":"array"}`:                      `the type must be "object"`,
		`{"type":"obejct"}`:                     `unknown type "obejct"`,
		`{"type":5}`:                            "not a valid JSON Schema",
		`{"properties":[]}`:                     "not a valid JSON Schema",
		`{"required":"a"}`:                      "not a valid JSON Schema",
		`{"$ref":"#/$defs/x"}`:                  "not a valid JSON Schema",
		`{"$ref":"https://example.com/x.json"}`: "not a valid JSON Schema",
		`{"properties":{"a":{"pattern":"("}}}`:  "not a valid JSON Schema",
		`{"properties":{"a":{"anyOf":[{"type":"x"}]}}}`: `unknown type "x"`,
		`{"properties":{"a":{"items":{"type":["x"]}}}}`: `unknown type "x"`,
		deep: "",
		`{"description":"` + strings.Repeat("x", 300_000) + `"}`: "over the limit",
	} {
		_, err := ParseResultSchema([]byte(text))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	// A property called type isn't a type.
	resultSchema(t, `{"type":"object","properties":{"type":{"enum":["x"]}},"default":{"type":"y"}}`)
}
