package contextfiles

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgents(t *testing.T) {
	dir := tree(t, map[string]string{
		"p/.adze/agents/reviewer.md": "---\nname: reviewer\ndescription: >\n  Reviews\n  changes.\ntools: [read_file, grep_search]\ndisallowedTools: \"Write Edit\"\nmodel: big\nmode: plan\ncolor: red\n---\n\nYou review.\n",
		"p/.qwen/agents/reviewer.md": "---\nname: Reviewer\ndescription: hidden\n---\nx",
		"p/.qwen/agents/tester.md":   "---\r\nname: tester\r\ndescription: \"Tests: all\"\r\ntools: Read, Shell ,\r\nmodel: inherit\r\npermissionMode: acceptEdits\r\n---\r\nYou test.\r\n",
		"home/agents/tester.md":      "---\nname: tester\ndescription: hidden\n---\n",
		"home/agents/all.md":         "---\nname: all\ndescription: All.\ntools: '*'\n---",
		"home/agents/none.md":        "---\nname: none\ndescription: None.\ntools: []\napprovalMode: auto_edit\n---\n",
		"home/agents/claude.md":      "---\nname: claude\ndescription: Use this agent when a test fails. Examples: <example>Context: user: \"it's red\"</example>\ntools:\n  - Read\n  - \"Grep\"\n  - 'Bash'\nmodel: inherit\ncolor: green\n---\nYou fix.\n",
		"home/agents/notes.txt":      "not one",
		"home/agents/.sub/x.md":      "not one",
	})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	p := Places{Own: at("home"), Home: at("absent"), Project: at("p"), Trusted: true}
	got, notes := Agents(p)
	want := []Agent{
		{"reviewer", "Reviews changes.", "You review.", []string{"read_file", "grep_search"}, []string{"Write", "Edit"}, "big", "plan", at("p/.adze/agents/reviewer.md"), Project},
		{"tester", "Tests: all", "You test.", []string{"Read", "Shell"}, nil, "", "auto-edit", at("p/.qwen/agents/tester.md"), Project},
		{"all", "All.", "", nil, nil, "", "", at("home/agents/all.md"), User},
		{"claude", `Use this agent when a test fails. Examples: <example>Context: user: "it's red"</example>`, "You fix.", []string{"Read", "Grep", "Bash"}, nil, "", "", at("home/agents/claude.md"), User},
		{"none", "None.", "", []string{}, nil, "", "auto-edit", at("home/agents/none.md"), User},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	notesHold(t, notes)

	p.Trusted = false
	got, notes = Agents(p)
	if len(got) != 4 || got[3].Name != "tester" || got[3].Scope != User {
		t.Errorf("untrusted: %+v", got)
	}
	notesHold(t, notes)
	if d := cmp.Diff([]string{filepath.FromSlash(".adze/agents"), filepath.FromSlash(".qwen/agents")}, p.Untrusted()); d != "" {
		t.Error(d)
	}
}

func TestAgentsThatCannotBeUsed(t *testing.T) {
	dir := tree(t, map[string]string{
		"agents/a.md": "no front matter",
		"agents/b.md": "---\nname: [\n---\nsecret words",
		"agents/c.md": "---\ndescription: d\n---\n",
		"agents/d.md": "---\nname: a/b\ndescription: d\n---\n",
		"agents/e.md": "---\nname: e\n---\n",
		"agents/f.md": "---\nname: f\ndescription: d\nmode: wild\n---\n",
		"agents/g.md": "---\nname: g\ndescription: d\n---\n" + strings.Repeat("x", maxDefinition),
		"agents/h.md": "---\nname: h\ndescription: d\n",
		"agents/i.md": "\x00\xff\x00",
		"agents/j.md": "---\nname: j\ndescription: " + strings.Repeat("long ", 1000) + "\n---\n",
		"agents/k.md": "---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ntools: *d\nname: k\ndescription: d\n---\n",
	})
	got, notes := Agents(Places{Own: dir})
	if len(got) != 2 || got[0].Name != "c" || got[1].Name != "j" || len([]rune(got[1].Description)) != maxAbout {
		t.Errorf("%+v", got)
	}
	notesHold(t, notes, "does not begin with front matter", "not the YAML", "its name is not one of", "has no description",
		`unknown mode "wild"`, "more than 64 KB", "does not begin with front matter", "binary", "not the YAML")
	for _, n := range notes {
		if strings.Contains(n, "secret words") {
			t.Errorf("a note tells what stands in a file: %s", n)
		}
	}
}

func TestSkills(t *testing.T) {
	dir := tree(t, map[string]string{
		"p/.adze/skills/release/SKILL.md": "---\nname: release\ndescription: How to release.\n---\nTag it; see notes.md.\n",
		"p/.adze/skills/release/notes.md": "n",
		"p/.qwen/skills/plain/SKILL.md":   "---\ndescription: Named by its folder.\n---\nx",
		"home/skills/release/SKILL.md":    "---\nname: RELEASE\ndescription: hidden\n---\n",
		"home/skills/bad/SKILL.md":        "nothing",
		"home/skills/empty/x":             "",
		"home/skills/file.md":             "",
	})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	p := Places{Own: at("home"), Project: at("p"), Trusted: true}
	got, notes := Skills(p)
	var lines []string
	for _, s := range got {
		about, err := s.About()
		lines = append(lines, fmt.Sprint(s.Name, "|", about.Description, "|", s.Path, "|", s.Scope, "|", s.Hides, "|", err))
	}
	want := []string{
		"release|How to release.|" + at("p/.adze/skills/release") + "|project|[" + at("home/skills/release") + "]|<nil>",
		"plain|Named by its folder.|" + at("p/.qwen/skills/plain") + "|project|[]|<nil>",
		"bad||" + at("home/skills/bad") + "|user|[]|read " + at("home/skills/bad/SKILL.md") + ": it does not begin with front matter between two lines of ---",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	notesHold(t, notes)
	if text, _, err := got[0].Read(); err != nil || text != "Tag it; see notes.md." {
		t.Errorf("%q, %v", text, err)
	}
	p.Trusted = false
	if got, notes = Skills(p); len(got) != 2 || got[0].Scope != User || len(notes) != 0 || len(p.Untrusted()) == 0 {
		t.Errorf("untrusted: %+v %q", got, notes)
	}
}

// A project's definitions lead nowhere else.
func TestDefinitionsBehindLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	good := "---\nname: x\ndescription: d\n---\nbody"
	dir := tree(t, map[string]string{
		"out/a.md": good, "out/s/SKILL.md": good,
		"p/.adze/agents/a.md": "->$DIR/out/a.md", "p/.adze/skills/s": "->$DIR/out/s", "p/.qwen/agents": "->$DIR/out",
		"home/agents": "->$DIR/out", "home/skills/s": "->$DIR/out/s",
	})
	places := Places{Project: filepath.Join(dir, "p"), Trusted: true}
	agents, notes := Agents(places)
	if len(agents) != 0 {
		t.Errorf("%+v", agents)
	}
	notesHold(t, notes, "it is a link to a path outside", "it is a link to a path outside")
	skills, notes := Skills(places)
	notesHold(t, notes)
	for _, s := range skills {
		if _, err := s.About(); err == nil || !strings.Contains(err.Error(), "it is a link to a path outside") {
			t.Errorf("%s: %v", s.Name, err)
		}
		if text, _, err := s.Read(); err == nil {
			t.Errorf("%s: %q", s.Name, text)
		}
	}
	places = Places{Own: filepath.Join(dir, "home")}
	if agents, _ := Agents(places); len(agents) != 1 {
		t.Errorf("the person's own link is not followed: %+v", agents)
	}
	if skills, _ := Skills(places); len(skills) != 1 {
		t.Errorf("the person's own link is not followed: %+v", skills)
	}
}
