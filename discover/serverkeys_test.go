package discover

import (
	"encoding/json"
	"slices"
	"testing"
)

// A misspelt key, such as excludedTools, was silently nothing.
func TestUnknownKeys(t *testing.T) {
	got := UnknownKeys([]byte(`{"command":"x","EXCLUDETOOLS":["a"],"excludedTools":["a"],"oauth":{},"tcp":"y"}`))
	if !slices.Equal(got, []string{"excludedTools", "tcp"}) {
		t.Error(got)
	}
}

func TestMisread(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":["a"]}`:      "command must be a string, got a JSON array",
		`{"args":"a"}`:           "args must be a list of strings, got a JSON string",
		`{"args":["a",5]}`:       "each value in args must be a string, got a JSON number",
		`{"env":{"A":5}}`:        "each value in env must be a string, got a JSON number",
		`{"env":["A"]}`:          "env must be an object, got a JSON array",
		`{"timeout":"5"}`:        "timeout must be a whole number, got a JSON string",
		`{"trust":"yes"}`:        "trust must be true or false, got a JSON string",
		`{"oauth":{"scopes":5}}`: "oauth.scopes must be a list of strings, got a JSON number",
	} {
		var s Server
		err := json.Unmarshal([]byte(in), &s)
		if err == nil {
			t.Errorf("%s was read", in)
		} else if got := Misread(err); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
