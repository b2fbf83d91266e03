package main

import (
	"strings"
	"testing"
)

// ownPlaces are places of $ADZE_HOME in a workspace, and its resolved path.
var ownPlaces = []struct {
	name, home, real string
}{
	{"home directory", ".adze", ".adze"},
	{"elsewhere in the workspace", "sub/state", "sub/state"},
	{"through a link", "link", "sub/real"},
}

// No tool and no command that runs without approval reads Adze's own directory, wherever it is: keys, logins, journals.
// With the home directory as the workspace, searches and commands used to read all of it.
func TestOwnDirectoryIsSecret(t *testing.T) {
	t.Parallel()
	program := plainProgram(t)
	for _, place := range ownPlaces {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			eachUser(t, func(t *testing.T, uid int) {
				d := newDen(t, program, uid)
				d.mkdir(place.real)
				if place.home != place.real {
					d.link(place.home, d.at(place.real))
				}
				d.settings = `,"security":{"auth":{"apiKey":"` + birdseye + `"}}`
				for _, name := range []string{"/mcp/mcp-tokens.json", "/sessions/old/journal.jsonl", "/store/ab/cdef", "/AGENTS.md"} {
					d.put(place.real+name, birdseye+"\n", 0o600)
				}
				d.put(place.real+"/spill/old/out.txt", "a saved result\n", 0o600)
				d.give()
				testOwnDirectory(t, d, d.at(place.home), d.at(place.real), place.real)
			})
		})
	}
}

func testOwnDirectory(t *testing.T, d *den, home, real, rel string) {
	state := home
	check := func(backend, tools, name string, arguments map[string]any) {
		t.Helper()
		out, _ := d.call(state, tools, name, arguments)
		if strings.Contains(out, birdseye) {
			t.Errorf("%s: %s %v\n%s", backend, name, arguments, out)
		}
	}
	for _, c := range []struct {
		name      string
		arguments map[string]any
	}{
		{"grep_search", map[string]any{"pattern": "C4N"}},
		{"grep_search", map[string]any{"pattern": "C4N", "no_ignore": true, "path": real}},
		{"grep_search", map[string]any{"pattern": "C4N", "path": real + "/settings.json"}},
		{"read_many_files", map[string]any{"paths": []string{"**/*", ".*/**", rel + "/*.json"}}},
		{"read_file", map[string]any{"absolute_path": home + "/settings.json"}},
	} {
		check("no command", `"trial":"off"`, c.name, c.arguments)
	}
	for _, b := range append(backends, struct{ name, tools string }{"trial", `"trial":"auto"`}) {
		if b.name == "bubblewrap" && !hasBubblewrap() {
			continue
		}
		for _, line := range []string{
			"grep -rh C4N .", "cat " + rel + "/*.json " + rel + "/*/*", "find . -type f -exec cat {} +", "cat " + rel + "/settings.json",
			"for f in $(find . -name '*.json'); do cat $f; done > all; cat all", "cp -r " + rel + " copy; grep -rh C4N copy",
		} {
			check(b.name, b.tools, "run_shell_command", map[string]any{"command": line})
		}
		saved := map[string]any{"command": "cat " + real + "/spill/old/out.txt"}
		if out, _ := d.call(state, b.tools, "run_shell_command", saved); !strings.Contains(out, "a saved result") {
			t.Errorf("%s: a saved result can't be read:\n%s", b.name, out)
		}
	}
	for name, arguments := range map[string]map[string]any{
		"read_file": {"absolute_path": real + "/spill/old/out.txt"}, "grep_search": {"pattern": "saved", "path": real + "/spill/old/out.txt"},
	} {
		if out, _ := d.call(state, `"trial":"off"`, name, arguments); !strings.Contains(out, "a saved result") {
			t.Errorf("%s: a saved result can't be read:\n%s", name, out)
		}
	}
}
