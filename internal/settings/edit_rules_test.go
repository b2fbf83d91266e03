package settings

import "testing"

func TestAllowRules(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no file yet", "", "{\n  \"permissions\": {\n    \"allow\": [\"Shell(make:*)\"]\n  }\n}\n"},
		{"no rules yet", "{\n  // mine\n  \"model\": {\"name\": \"x\"}\n}\n", "{\n  // mine\n  \"model\": {\"name\": \"x\"},\n  \"permissions\": {\n    \"allow\": [\"Shell(make:*)\"]\n  }\n}\n"},
		{"on one line", `{"permissions": {"allow": ["Read(/a)"]}}`, `{"permissions": {"allow": ["Read(/a)", "Shell(make:*)"]}}`},
		{"one a line, with comments", "{\"permissions\": {\"allow\": [\n    // look\n    \"Read(/a)\" // here\n]}}", "{\"permissions\": {\"allow\": [\n    // look\n    \"Read(/a)\",\n    \"Shell(make:*)\" // here\n]}}"},
		{"a trailing comma", "{\"permissions\": {\"allow\": [\"Read(/a)\",]}}", "{\"permissions\": {\"allow\": [\"Read(/a)\", \"Shell(make:*)\",]}}"},
		{"there already", `{"permissions": {"allow": ["Shell(make:*)"]}}`, `{"permissions": {"allow": ["Shell(make:*)"]}}`},
		{"deny stays", `{"permissions": {"deny": ["Shell(rm)"]}}`, `{"permissions": {"deny": ["Shell(rm)"], "allow": ["Shell(make:*)"]}}`},
	} {
		got, err := AllowRules("settings.json", []byte(c.text), []string{"Shell(make:*)"})
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	for _, broken := range []string{"{", `{"permissions": []}`, `{"permissions": {"allow": "x"}}`} {
		if got, err := AllowRules("settings.json", []byte(broken), []string{"Shell(make:*)"}); err == nil {
			t.Errorf("%s became %s", broken, got)
		}
	}
}
