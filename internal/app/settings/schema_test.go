package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// values are examples of every kind of JSON value.
var values = []string{
	`"x"`, `""`, `"plan"`, `"auto"`, `"openai"`, `"built-in"`, `"1h"`, `3`, `1`, `0.5`, `-1`, `2.5`, `true`, `false`, `[]`, `["x"]`, `[1]`, `{}`, `{"a":{}}`, `{"a":[]}`, `{"a":1}`, `[{}]`,
}

// The schema accepts no value that a settings file can't have. Values that it rejects and Adze accepts are those of Qwen
// Code.
func TestSchemaAgreesWithKeys(t *testing.T) {
	for _, k := range keys() {
		if k.about == "" || !strings.HasSuffix(k.about, ".") {
			t.Errorf("%s: no description", k.name)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal([]byte(k.shape), &schema); err != nil {
			t.Errorf("%s: schema: %v", k.name, err)
			continue
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Errorf("%s: schema: %v", k.name, err)
			continue
		}
		accepted := 0
		for _, v := range values {
			var value any
			if err := json.Unmarshal([]byte(v), &value); err != nil {
				t.Fatal(err)
			}
			_, err := CheckValue(k.name, json.RawMessage(v), false)
			fits := resolved.Validate(value) == nil
			if fits && err == nil {
				accepted++
			}
			lenient := k.name == "tools.sandbox" || k.name == "tools.approvalMode" || k.name == "tools.sandboxBackend" || strings.HasPrefix(k.name, "security.") ||
				strings.HasPrefix(k.name, "ui.") && k.shape != booleanShape // what is wrong there is a note: it stops no conversation
			switch {
			case fits && err != nil && k.name != "modelProviders" && k.name != "modelPricing" &&
				k.name != "context.fileFiltering.customIgnoreFiles" && k.name != "lsp.servers": // known servers need no command
				t.Errorf("%s: the schema accepts %s, but: %v", k.name, v, err)
			case !fits && err == nil && !lenient && k.name != "webSearch.provider" && k.name != "modelProviders":
				t.Errorf("%s: the schema rejects %s, which Adze accepts", k.name, v)
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no example is accepted", k.name)
		}
	}
}

// Defaults in the documentation are those of the program.
func TestPresets(t *testing.T) {
	for _, k := range keys() {
		if k.preset == "" {
			continue
		}
		f, err := parse("x", []byte(`{"v":`+k.preset+`}`))
		if err != nil {
			t.Fatal(err)
		}
		s := builtin()
		if _, err := k.put(&s, given{value: f.root().members()[0].value}); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		if diff := cmp.Diff(builtin().Tools, s.Tools) + cmp.Diff(builtin().Context, s.Context); diff != "" {
			t.Errorf("%s: the default is not %s:\n%s", k.name, k.preset, diff)
		}
	}
}

func TestSchemaHasEveryKey(t *testing.T) {
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys() {
		at := &schema
		for _, part := range strings.Split(k.name, ".") {
			if at = at.Properties[part]; at == nil {
				t.Fatalf("%s is not in the schema", k.name)
			}
		}
		if at.Description != k.about {
			t.Errorf("%s: description %q", k.name, at.Description)
		}
	}
	var bad any = map[string]any{"tools": map[string]any{"core": "read_file"}}
	if resolved.Validate(bad) == nil {
		t.Error("the schema accepts tools.core as a string")
	}
}
