package command

import "testing"

// The question about a host used to name the first program of the command: "date wants example.com".
func TestProgramOf(t *testing.T) {
	for command, want := range map[string]string{
		"curl -sS https://example.com/a | head -3":       "curl",
		"date > a; curl -sS https://example.com/x; true": "curl",
		"cd sub && npm ci":                               "npm",
		"npm ci && npm test":                             "npm",
		"date; npm ci":                                   "the command",
		"$TOOL --all":                                    "the command",
		"if":                                             "the command",
		"for i in 1 2; do wget http://example.com; done":   "wget",
		"/usr/bin/git clone https://example.com/r.git; ls": "git",
	} {
		if got := programOf(command, "example.com"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
