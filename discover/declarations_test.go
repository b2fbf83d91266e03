package discover

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeclarations(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]string // name to schema
		warnings int
		err      bool
	}{
		{name: "bare", in: `[{"name":"a","parametersJsonSchema":{"type":"object"}}]`, want: map[string]string{"a": `{"type":"object"}`}},
		{name: "grouped", in: `[{"function_declarations":[{"name":"a"},{"name":"b"}]},{"functionDeclarations":[{"name":"c"}]}]`,
			want: map[string]string{"a": `{"type":"object","properties":{}}`, "b": `{"type":"object","properties":{}}`, "c": `{"type":"object","properties":{}}`}},
		{name: "one group", in: `{"functionDeclarations":[{"name":"c"}]}`, want: map[string]string{"c": `{"type":"object","properties":{}}`}},
		{name: "gemini", in: `[{"name":"a","parameters":{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["STRING"]},"l":{"type":"ARRAY","items":{"type":["INTEGER","NULL"]}}}}}]`,
			want: map[string]string{"a": `{"properties":{"l":{"items":{"type":["integer","null"]},"type":"array"},"type":{"enum":["STRING"],"type":"string"}},"type":"object"}`}},
		{name: "strange entries", in: `[1,{"x":1},{"functionDeclarations":3},{"functionDeclarations":[{"y":1},4]},{"name":"a"}]`, warnings: 5,
			want: map[string]string{"a": `{"type":"object","properties":{}}`}},
		{name: "nothing", in: "  \n", err: true},
		{name: "no JSON", in: "hello", err: true},
		{name: "cut", in: `[{"name":"a"}`, err: true},
		{name: "empty", in: "[]", want: map[string]string{}},
	} {
		found, warnings, err := parseDeclarations([]byte(c.in))
		if (err != nil) != c.err {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if c.err {
			continue
		}
		got := map[string]string{}
		for _, d := range found {
			got[d.Name] = string(d.schema())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(warnings) != c.warnings {
			t.Errorf("%s: warnings %q\n%s", c.name, warnings, diff)
		}
	}
}

func FuzzDeclarations(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"name":"a","parameters":{"type":"OBJECT"}}]`, `{"function_declarations":[{"name":"x"}]}`, `[null]`, `"x"`,
		`[{"name":"a","parameters":{"items":{"items":[{"type":"X"}]},"type":["A",1]}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		found, _, err := parseDeclarations(in)
		if err != nil {
			return
		}
		for _, d := range found {
			if d.Name == "" || !json.Valid(d.schema()) {
				t.Fatalf("declaration %+v with schema %s", d, d.schema())
			}
		}
	})
}
