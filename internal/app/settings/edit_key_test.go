package settings

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestSetKey(t *testing.T) {
	for _, tt := range []struct{ name, text, key, value, want string }{
		{"nothing", "", "model.name", `"x"`, "{\n  \"model\": {\n    \"name\": \"x\"\n  }\n}\n"},
		{"comments alone", "// mine", "tools.core", `[]`, "// mine\n{\n  \"tools\": {\n    \"core\": []\n  }\n}\n"},
		{"one line", `{"tools": {"core": ["a"]}}`, "tools.core", `["b"]`, "{\"tools\": {\"core\": [\n  \"b\"\n]}}"},
		{"null object", `{"tools": null}`, "tools.sandbox", `"off"`, "{\"tools\": {\n  \"sandbox\": \"off\"\n}}"},
		{"null value", `{"model": {"name": null}}`, "model.name", `"x"`, `{"model": {"name": "x"}}`},
		{"an older name", `{"excludeTools": ["a"], "tools": {"x": 1}}`, "tools.exclude", `[]`, `{"tools": {"x": 1, "exclude": []}}`},
		{"a string that became an object", `{"model": "old"}`, "model.name", `"new"`, "{\n  \"model\": {\n    \"name\": \"new\"\n  }\n}"},
		{"twice", "{\"tools\": {\"core\": [\"a\"]}, \"tools\": {\"core\": [\"b\"]}}", "tools.core", `[]`, `{"tools": {}, "tools": {"core": []}}`},
		{"line endings", "{\r\n  \"a\": 1\r\n}\r\n", "model.name", `"x"`, "{\r\n  \"a\": 1,\r\n  \"model\": {\r\n    \"name\": \"x\"\r\n  }\r\n}\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetKey("f", []byte(tt.text), tt.key, json.RawMessage(tt.value))
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, tt.want)
			}
			without, found, err := UnsetKey("f", got, tt.key)
			if err != nil || !found {
				t.Fatalf("unset: %v %v", found, err)
			}
			if _, again, err := UnsetKey("f", without, tt.key); again || err != nil {
				t.Errorf("it is still there: %v\n%s", err, without)
			}
		})
	}
}

func TestSetKeyErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"tools": 1}`: "f:1:11: tools must be an object, got a number",
		`{"tools":`:    "f:1:",
		`[]`:           "expected an object",
	} {
		if out, err := SetKey("f", []byte(text), "tools.core", json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", text, err, out)
		}
	}
	for name, want := range map[string]string{
		"tools.coer":         "Did you mean tools.core?",
		"Tools.Core":         "Did you mean tools.core?",
		"respectGitIgnore":   "Did you mean context.fileFiltering.respectGitIgnore?",
		"tools":              "Use one of: tools.afterChange, tools.approvalMode, tools.core",
		"quite.another.name": "See 'adze config list'.",
		"":                   "is unknown",
	} {
		_, err := Canonical(name)
		var bad *ValueError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if name, err := Canonical("excludeTools"); name != "tools.exclude" || err != nil {
		t.Error(name, err)
	}
}

// For any file, a change either fails or has the intended effect, and nothing else is lost.
func FuzzSetKey(f *testing.F) {
	for _, text := range []string{"", "{}", "// x", `{"tools":{"core":[],},}`, `{"model":"m","model":{"name":1}}`, "{/*a*/\"tools\"/*b*/:/*c*/{/*d*/}/*e*/}", "{\"a\":1,//x\n}"} {
		f.Add(text, "tools.core", `["a"]`)
		f.Add(text, "model.name", `"a"`)
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		if _, err := CheckValue(name, json.RawMessage(value), false); err != nil {
			return
		}
		out, err := SetKey("f", []byte(text), name, json.RawMessage(value))
		if err != nil {
			return
		}
		k, _ := find(name)
		if err := says("f", out, k, json.RawMessage(value)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, comment := range []string{"/*a*/", "/*b*/", "/*c*/", "/*d*/", "/*e*/"} {
			if strings.Contains(text, comment) && !strings.Contains(string(out), comment) && len(occurrences(mustParse(t, text).root(), k)) == 0 {
				t.Fatalf("%s is lost:\n%s", comment, out)
			}
		}
	})
}

func mustParse(t *testing.T, text string) *file {
	f, err := parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A value is the sum of what all sources say, or what the strongest says.
func TestValue(t *testing.T) {
	s, err := Load(Sources{Flags: []Flag{
		{Name: "--a", Key: "permissions.allow", List: []string{"x", "y"}},
		{Name: "--b", Key: "permissions.allow", Value: "z"},
		{Name: "--c", Key: "tools.core", List: []string{"x"}},
		{Name: "--d", Key: "tools.core", List: []string{}},
		{Name: "--e", Key: "model.maxToolCalls", Value: "7"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"permissions.allow": `["x","y","z"]`, "allowedTools": `["x","y","z"]`, "tools.core": `[]`, "model.maxToolCalls": `7`, "tools.sandbox": `"auto"`, "model.name": "",
	} {
		if got, _ := s.Value(key); string(got) != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if s.Tools.Core == nil || len(s.Tools.Core) != 0 {
		t.Errorf("core %v", s.Tools.Core)
	}
}

func TestAddRules(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no file yet", "", "{\n  \"permissions\": {\n    \"allow\": [\"Shell(make:*)\"]\n  }\n}\n"},
		{"no rules yet", "{\n  // mine\n  \"model\": {\"name\": \"x\"}\n}\n", "{\n  // mine\n  \"model\": {\"name\": \"x\"},\n  \"permissions\": {\n    \"allow\": [\"Shell(make:*)\"]\n  }\n}\n"},
		{"on one line", `{"permissions": {"allow": ["Read(/a)"]}}`, `{"permissions": {"allow": ["Read(/a)", "Shell(make:*)"]}}`},
		{"one a line, with comments", "{\"permissions\": {\"allow\": [\n    // look\n    \"Read(/a)\" // here\n]}}", "{\"permissions\": {\"allow\": [\n    // look\n    \"Read(/a)\",\n    \"Shell(make:*)\" // here\n]}}"},
		{"a trailing comma", "{\"permissions\": {\"allow\": [\"Read(/a)\",]}}", "{\"permissions\": {\"allow\": [\"Read(/a)\", \"Shell(make:*)\",]}}"},
		{"there already", `{"permissions": {"allow": ["Shell(make:*)"]}}`, `{"permissions": {"allow": ["Shell(make:*)"]}}`},
		{"deny stays", `{"permissions": {"deny": ["Shell(rm)"]}}`, `{"permissions": {"deny": ["Shell(rm)"], "allow": ["Shell(make:*)"]}}`},
	} {
		got, err := AddRules("settings.json", []byte(c.text), "allow", []string{"Shell(make:*)"})
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	for _, broken := range []string{"{", `{"permissions": []}`, `{"permissions": {"allow": "x"}}`} {
		if got, err := AddRules("settings.json", []byte(broken), "allow", []string{"Shell(make:*)"}); err == nil {
			t.Errorf("%s became %s", broken, got)
		}
	}
}
