package discover

import "testing"

// A new token makes no other server of it; another command, address or written variable does.
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
