package slash

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/definitions"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
	"github.com/google/go-cmp/cmp"
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
	for _, c := range (&Commands{}).table() {
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

// The commands that pages for new users show exist.
func TestPagesNameSlashCommands(t *testing.T) {
	for _, page := range []string{"coming-from.md", "terminal.md", "sessions.md"} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`/([a-z-]+)( [^`]*)?`").FindAllStringSubmatch(string(doc), -1) {
			if _, ok := find((&Commands{}).table(), m[1]); !ok {
				t.Errorf("%s: there is no /%s", page, m[1])
			}
		}
	}
}

// A front end lists what works in it.
func TestSlashesOfFrontEnds(t *testing.T) {
	for front, want := range map[Ability]string{
		0:                                "agents compress context doctor help hooks init lsp mcp memory permissions settings skills tools trust",
		Lasts:                            "agents background clear compress context cost diff doctor effort export goal help hooks init lsp mcp memory mode model permissions plan redo rename settings skills tools trust undo",
		Lasts | Quits | Copies | Answers: "agents background clear compress context copy cost diff doctor effort export goal help hooks init lsp mcp memory mode model permissions plan quit redo rename settings skills tools trust undo",
		^Ability(0):                      "add-dir agents background clear compress context copy cost diff doctor effort export goal help hooks init keys lsp mcp memory mode model permissions plan quit redo rename resume rewind settings skills theme tools trust undo vim",
	} {
		s := &session.Session{Settings: &settings.Settings{}, Definitions: &definitions.Definitions{}, Outside: &external.Tools{}}
		var got []string
		for _, c := range New(s, front).List() {
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

// Whatever a prompt holds, reading it does not panic.
func FuzzCommandWords(f *testing.F) {
	for _, s := range []string{"/a:b c=\"d e\"\nrest", "/é '", "/a \"'\" b='"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if _, words, _, ok := slashed(prompt); ok {
			promptArguments([]discover.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}, splitQuoted(words))
		}
	})
}

// /compress replaces the conversation by a summary that compactionModel writes. Changes since the system prompt are sent
// again, because the messages about them are gone.
func TestCompress(t *testing.T) {
	server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Text: strings.Repeat("A long answer. ", 400)},
		{Expect: []string{"Plan mode is on"}, Text: "two"},
		{Expect: []string{`"model":"small"`, "Write a summary", "A long answer."}, Text: "The task is to compress."},
		{Expect: []string{`"model":"large"`, "The task is to compress.", "<prompt>\\nfirst\\n</prompt>", "third"}, Absent: []string{"A long answer."}, Text: "three"},
		{Expect: []string{"Plan mode is on", "fourth"}, Text: "four"},
	}})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"compactionModel":"small","model":{"name":"large"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(project.Env{HasUser: true, Home: home, Getenv: func(name string) string {
		return map[string]string{"ADZE_HOME": home, "OPENAI_BASE_URL": server.URL}[name]
	}}, session.Options{Dir: project.Canonical(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commands := New(s, 0)
	compress := func(want string) {
		t.Helper()
		x, ok, err := commands.Expand(t.Context(), "/compress")
		if err != nil || !ok || !strings.HasPrefix(x.Print, want) {
			t.Errorf("%+v, %v, %v", x, ok, err)
		}
	}
	compress("Nothing to compact: the conversation has not started.")
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var events []agent.Compacted
	c := s.Converse(t.Context(), session.ConversationOptions{Model: m, Observe: func(e agent.Event) {
		if done, ok := e.(agent.Compacted); ok {
			events = append(events, done)
		}
	}})
	compress("nothing to compact yet")
	for _, prompt := range []string{"first", "second", "", "third", "fourth"} {
		if prompt == "" {
			compress("compacted the conversation from ")
			continue
		}
		if prompt == "second" {
			s.Policy.SetMode(permission.Plan)
		}
		if _, err := c.Run(t.Context(), model.Text(prompt)); err != nil {
			t.Fatal(err)
		}
	}
	if len(events) != 1 || events[0].Summary != "The task is to compress." {
		t.Errorf("events %+v", events)
	}
	if tokens, window := c.Context(); tokens <= 0 || window != 128_000 {
		t.Errorf("%d tokens of %d", tokens, window)
	}
}
