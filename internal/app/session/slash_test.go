package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/settings"
)

func TestSlashed(t *testing.T) {
	for prompt, want := range map[string][3]string{
		"/help":                        {"help", "", ""},
		"/help \n":                     {"help", "", ""},
		"/a:b x=1  y\r\nand this\n":    {"a:b", "x=1  y", "and this"},
		"/srv:ns/name arg":             {"srv:ns/name", "arg", ""},
		"/größe":                       {"größe", "", ""},
		"/etc/hosts":                   {},
		"// a comment":                 {},
		"/* a comment */":              {},
		"/":                            {},
		" /help":                       {},
		"what does /help do?":          {},
		"/usr/bin/env: no such file\n": {},
	} {
		name, words, rest, ok := slashed(prompt)
		if !ok {
			name, words, rest = "", "", ""
		}
		if got := [3]string{name, words, rest}; got != want {
			t.Errorf("%q: got %q, want %q", prompt, got, want)
		}
	}
}

// The table is sorted, names are unique, and the documentation has all of them.
func TestSlashTable(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "terminal.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	last := ""
	for _, c := range slashTable() {
		if c.Name <= last {
			t.Errorf("/%s comes after /%s", c.Name, last)
		}
		last = c.Name
		if c.About == "" || c.run == nil {
			t.Errorf("/%s: %+v", c.Name, c)
		}
		for _, name := range append([]string{c.Name}, c.Also...) {
			if seen[name] || !slashName().MatchString(name) {
				t.Errorf("/%s is there twice, or is no name", name)
			}
			seen[name] = true
			if !strings.Contains(string(doc), "`/"+name) {
				t.Errorf("docs/terminal.md lacks /%s", name)
			}
		}
	}
}

// A front end lists what works in it.
func TestSlashesOfFrontEnds(t *testing.T) {
	for front, want := range map[Ability]string{
		0:                                "agents compress context doctor help hooks init mcp memory permissions settings skills tools trust",
		Lasts:                            "agents background clear compress context cost diff doctor effort export help hooks init mcp memory mode model permissions plan redo settings skills tools trust undo",
		Lasts | Quits | Copies | Answers: "agents background clear compress context copy cost diff doctor effort export help hooks init mcp memory mode model permissions plan quit redo settings skills tools trust undo",
		^Ability(0):                      "add-dir agents background clear compress context copy cost diff doctor effort export help hooks init keys mcp memory mode model permissions plan quit redo resume rewind settings skills theme tools trust undo",
	} {
		s := &Session{front: front, Settings: &settings.Settings{}, Definitions: &Definitions{}, Outside: &Outside{}}
		var got []string
		for _, c := range s.Slashes() {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%b\n%s", front, diff)
		}
	}
}

func TestPromptArguments(t *testing.T) {
	known := []discover.PromptArgument{{Name: "what", Required: true}, {Name: "how"}, {Name: "why"}}
	for line, want := range map[string]map[string]string{
		"":                           {},
		"code":                       {"what": "code"},
		"code fast and well":         {"what": "code", "how": "fast", "why": "and well"},
		`what="two words" how='a b'`: {"what": "two words", "how": "a b"},
		"--how=x code":               {"what": "code", "how": "x"},
		"how= code":                  {"what": "code", "how": ""},
		"other=1":                    {"what": "other=1"},
		`don't "open`:                {"what": "don't", "how": `"open`},
		`"" x`:                       {"what": "", "how": "x"},
	} {
		got, missing := promptArguments(known, splitQuoted(line))
		if diff := cmp.Diff(want, got); diff != "" || (len(missing) > 0) != (line == "") {
			t.Errorf("%s: missing %v\n%s", line, missing, diff)
		}
	}
}

func TestResourcesOfAPrompt(t *testing.T) {
	known := func(server, uri string) bool { return server == "s" && uri == "x://odd." }
	for prompt, want := range map[string][]string{
		"see @s:a://b, and (@t:c://d).": {"a://b", "c://d"},
		"see @s:x://odd.":               {"x://odd."},
		"see @s:x://odd..":              {"x://odd."},
		"see @s:y://even.":              {"y://even"},
		`see @"s:a://b c."`:             {"a://b c."},
		"mail me@s:a://b":               nil,
		"see @u:a://b @s: @s":           {"no server: a://b"},
		"see @u:b @types/node":          nil,
	} {
		var got []string
		for _, r := range resources(prompt, []string{"s", "t"}, known) {
			if r.server == "" {
				r.uri = "no server: " + r.uri
			}
			got = append(got, r.uri)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", prompt, diff)
		}
	}
}

// Whatever a prompt holds, reading it does not panic, and what it names is in it.
func FuzzPromptWords(f *testing.F) {
	for _, s := range []string{"/a:b c=\"d e\"\nrest", "see @s:a://b.", `@"s:x`, "/é '", "/a \"'\" b='", "@s:\xff."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if _, words, _, ok := slashed(prompt); ok {
			promptArguments([]discover.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}, splitQuoted(words))
		}
		for _, r := range resources(prompt, []string{"s"}, func(_, uri string) bool { return len(uri)%2 == 0 }) {
			if !strings.Contains(prompt, r.uri) {
				t.Errorf("%q is not in %q", r.uri, prompt)
			}
		}
	})
}
