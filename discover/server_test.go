package discover

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/me", "EMPTY": ""}[name]
		return v, ok
	}
	for in, want := range map[string]string{
		"$HOME/x": "/home/me/x", "${HOME}y": "/home/mey", "${NONE:-a b}": "a b", "${EMPTY:-x}": "x", "$EMPTY!": "!",
		"$NONE": "$NONE", "${NONE}": "${NONE}", "$1 $$ $": "$1 $$ $", "${HOME": "${HOME", "${NONE:-}": "",
	} {
		if got := Expand(in, lookup); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	s := Server{Command: "$HOME/bin", Args: []string{"${X:-1}"}, Env: map[string]string{"A": "$HOME"}, Headers: map[string]string{"H": "$HOME"}, OAuth: &OAuth{ClientID: "$HOME"}}
	want := Server{Command: "/home/me/bin", Args: []string{"1"}, Env: map[string]string{"A": "/home/me"}, Headers: map[string]string{"H": "/home/me"}, OAuth: &OAuth{ClientID: "/home/me"}}
	if diff := cmp.Diff(want, s.Expand(lookup), cmpopts.IgnoreUnexported(Server{})); diff != "" || s.OAuth.ClientID != "$HOME" || s.Env["A"] != "$HOME" {
		t.Errorf("%s\nthe original became %+v", diff, s)
	}
}

func TestTransport(t *testing.T) {
	for _, c := range []struct {
		s    Server
		want transport
		err  string
	}{
		{Server{Command: "x"}, launched, ""},
		{Server{HTTPURL: "https://a/mcp"}, streamable, ""},
		{Server{URL: "https://a/sse"}, sse, ""},
		{Server{URL: "https://a/mcp", Type: "http"}, streamable, ""},
		{Server{URL: "https://a/mcp", Type: "streamable-http"}, streamable, ""},
		{Server{HTTPURL: "https://a", URL: "https://b", Command: "c"}, streamable, ""},
		{Server{}, "", "no command"},
		{Server{Type: "tcp", Command: "x"}, "", `invalid type "tcp"`},
		{Server{URL: "javascript:alert(1)"}, sse, "not an http(s) URL"},
		{Server{Type: "stdio", URL: "https://a"}, "", "no command"},
	} {
		got, err := c.s.transport()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %s %v", c.s, got, err)
		}
	}
}

func TestHash(t *testing.T) {
	a := Server{Command: "x", Args: []string{"1"}}
	b := a
	b.Trust, b.Timeout, b.Description = true, 5, "d"
	c := a
	c.Args = []string{"2"}
	if a.Hash() != b.Hash() || a.Hash() == c.Hash() || len(a.Hash()) != 32 {
		t.Error(a.Hash(), b.Hash(), c.Hash())
	}
}

func TestSelect(t *testing.T) {
	all := map[string]Server{"a": {}, "ab": {}, "b": {}, "c": {}}
	for _, c := range []struct {
		allowed, excluded []string
		want              map[string]Server
	}{
		{nil, nil, all},
		{[]string{}, nil, map[string]Server{}},
		{[]string{"a*", "c"}, []string{"a?"}, map[string]Server{"a": {}, "c": {}}},
		{nil, []string{"*"}, map[string]Server{}},
	} {
		if diff := cmp.Diff(c.want, Select(all, c.allowed, c.excluded), cmpopts.IgnoreUnexported(Server{})); diff != "" {
			t.Errorf("%q %q: %s", c.allowed, c.excluded, diff)
		}
	}
}

// A new token doesn't change the identity; another command, URL or variable does.
func TestIdentity(t *testing.T) {
	written := Server{Command: "$BIN", Args: []string{"--root", "$DIR"}, Env: map[string]string{"TOKEN": "$TOKEN"}, OAuth: &OAuth{ClientSecret: "$TOKEN"}}
	expand := func(s Server, token, bin string) Server {
		return s.Expand(func(name string) (string, bool) {
			v, ok := map[string]string{"TOKEN": token, "BIN": bin, "DIR": "/d"}[name]
			return v, ok
		})
	}
	first := expand(written, "one", "/bin/server")
	if first.Env["TOKEN"] != "one" || first.Command != "/bin/server" || first.OAuth.ClientSecret != "one" {
		t.Fatalf("%+v", first)
	}
	second := expand(written, "two", "/bin/server")
	if first.Identity() != second.Identity() || first.Hash() == second.Hash() {
		t.Error("a token is part of what was allowed")
	}
	if first.Identity() == expand(written, "one", "/bin/other").Identity() {
		t.Error("the command is not part of what was allowed")
	}
	written.Env = map[string]string{"TOKEN": "$TOKEN", "LD_PRELOAD": "/x.so"}
	if first.Identity() == expand(written, "one", "/bin/server").Identity() {
		t.Error("a variable more is not part of what was allowed")
	}
	if plain := (Server{Command: "x"}); plain.Identity() != plain.Hash() {
		t.Error("what needs no expanding has another identity")
	}
}

// A misspelled key, such as excludedTools, used to be ignored silently.
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
