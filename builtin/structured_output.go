package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

//go:embed structured_output.md
var structuredOutputText string

// StructuredOutput is the name of the tool that ends a run with a structured result.
const StructuredOutput = "structured_output"

// ResultSchema is the JSON Schema of a run's result.
type ResultSchema struct {
	text   json.RawMessage
	params *schema.Schema
	all    *jsonschema.Resolved
}

// maxResultSchema is the maximum length of a schema: every request has it.
const maxResultSchema = 256 << 10

// ParseResultSchema reads a schema. It must be the schema of an object, because the arguments of a call are an object.
func ParseResultSchema(text []byte) (*ResultSchema, error) {
	if len(text) > maxResultSchema {
		return nil, fmt.Errorf("%d bytes, over the limit of %d", len(text), maxResultSchema)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if compact.Bytes()[0] != '{' {
		return nil, errors.New(`not an object: expected a JSON Schema such as {"type":"object","properties":{…}}`)
	}
	s := &ResultSchema{text: compact.Bytes()}
	var all jsonschema.Schema
	if err := json.Unmarshal(s.text, &all); err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	var plain any
	if err := json.Unmarshal(s.text, &plain); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if err := knownTypes(plain); err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	if len(all.Types) > 0 || all.Type != "" && all.Type != "object" {
		return nil, fmt.Errorf("the type must be \"object\", because the result is an object\nPut the value into a " +
			"property: {\"type\":\"object\",\"properties\":{\"result\":…},\"required\":[\"result\"]}")
	}
	var err error
	if s.all, err = all.Resolve(nil); err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	if s.params, err = schema.Parse(s.text); err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	if all.Type == "" { // servers require it
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(s.text, &fields); err != nil {
			return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
		}
		fields["type"] = json.RawMessage(`"object"`)
		if s.text, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// knownTypes checks the names of types, which the library doesn't.
func knownTypes(schema any) error {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	names, ok := s["type"].([]any)
	if !ok {
		names = []any{s["type"]}
	}
	for _, name := range names {
		switch name {
		case nil, "object", "array", "string", "number", "integer", "boolean", "null":
		default:
			return fmt.Errorf("unknown type %q", name)
		}
	}
	for _, sub := range subschemas(s) {
		if err := knownTypes(sub); err != nil {
			return err
		}
	}
	return nil
}

// subschemas returns the schemas within a schema.
func subschemas(s map[string]any) []any {
	var out []any
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		named, _ := s[key].(map[string]any)
		out = slices.AppendSeq(out, maps.Values(named))
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"} {
		list, _ := s[key].([]any)
		out = append(out, list...)
	}
	for _, key := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames", "additionalItems", "unevaluatedItems", "unevaluatedProperties"} {
		out = append(out, s[key])
	}
	return out
}

// result is the result that the model returned, once it has.
type result struct {
	schema *ResultSchema

	mu   sync.Mutex
	json json.RawMessage
}

// structuredOutput returns the tool that takes the result of a run.
func structuredOutput(r *result) tool.Tool { return structured{r} }

// structured is a tool whose parameters the user defines.
type structured struct{ result *result }

func (t structured) Declaration() tool.Declaration {
	d := tool.Declaration{
		Name: StructuredOutput, DisplayName: "StructuredOutput", Summary: "Return the result of a run as JSON",
		Description: strings.TrimSpace(structuredOutputText), Parameters: json.RawMessage(`{"type":"object"}`),
		Kind: tool.Think, Needs: tool.NeedsSession, Personal: true, Auxiliary: true,
	}
	if t.result.schema != nil {
		d.Parameters = t.result.schema.text
	}
	return d
}

func (t structured) Prepare(_ context.Context, raw json.RawMessage) (*tool.Invocation, error) {
	s := t.result.schema
	if s == nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "structured_output: this session has no result schema. "+
			"Reply with text.")
	}
	args, notes, err := s.params.Arguments(raw)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return nil, tool.BadParam("", "can't read the arguments: %v", err)
	}
	if err := s.all.Validate(value); err != nil {
		return nil, tool.BadParam("", "the result does not match the schema: %v. Fix it and call "+
			"structured_output again.", err)
	}
	return &tool.Invocation{
		Description: "return the result",
		Access:      []tool.Access{{Verb: tool.Locks, Target: StructuredOutput}}, // the first of several calls wins
		Notes:       notes,
		Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			if !t.result.take(args) {
				return tool.Result{}, tool.Errorf(tool.ExecutionFailed,
					"structured_output: the result was already returned")
			}
			return tool.Result{
				Content: []tool.Part{tool.Text("Result accepted. The session ends.")},
				Display: tool.Markdown("Returned the result."),
			}, nil
		},
	}, nil
}

// take records the result and reports whether it is the first one.
func (r *result) take(args json.RawMessage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json != nil {
		return false
	}
	r.json = args
	return true
}

// Structured returns the result that the model returned with structured_output; nil: none.
func (s *Set) Structured() json.RawMessage {
	s.result.mu.Lock()
	defer s.result.mu.Unlock()
	return s.result.json
}
