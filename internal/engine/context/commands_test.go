package contextfiles

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/engine/toml"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"p/.adze/commands/fix.md":          "---\ndescription: Fixes: all\nargument-hint: [file]\n---\n\nFix {{args}} with !{go vet {{args}} ${X}} and @{a b.txt}.\n",
		"p/.qwen/commands/fix.md":          "hidden",
		"p/.qwen/commands/git/commit.toml": "# a comment\ndescription = \"Commits\"\nmodel = 7\nprompt = \"\"\"\nWrite \\\"one\\\"\\\n   line: $ARGUMENTS\"\"\"\n[more]\nprompt = 1\n",
		"home/commands/Plain.MD":           "# Title\nSay {hi}.",
		"home/commands/notes.txt":          "not one",
		"home/commands/.git/x.md":          "not one",
	})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	got, notes := Commands(Places{Own: at("home"), Project: at("p"), Trusted: true})
	want := []Command{
		{"fix", "Fixes: all", "[file]", nil, at("p/.adze/commands/fix.md"), Project, false, []Part{
			{Kind: LiteralPart, Text: "\nFix ", Line: 5}, {Kind: ArgumentsPart, Line: 6}, {Kind: LiteralPart, Text: " with ", Line: 6},
			{Kind: ShellPart, Text: "go vet {{args}} ${X}", Line: 6, Shell: []Part{{Kind: LiteralPart, Text: "go vet ", Line: 6}, {Kind: ArgumentsPart, Line: 6}, {Kind: LiteralPart, Text: " ${X}", Line: 6}}},
			{Kind: LiteralPart, Text: " and ", Line: 6}, {Kind: FilePart, Text: "a b.txt", Line: 6}, {Kind: LiteralPart, Text: ".", Line: 6},
		}, 0},
		{"git:commit", "Commits", "", nil, at("p/.qwen/commands/git/commit.toml"), Project, false, []Part{
			{Kind: LiteralPart, Text: "Write \"one\"line: ", Line: 5}, {Kind: ArgumentsPart, Line: 5},
		}, 0},
		{"Plain", "Title", "", nil, at("home/commands/Plain.MD"), User, false, []Part{{Kind: LiteralPart, Text: "# Title\nSay {hi}.", Line: 1}}, 0},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(got[0].shellLines()) == 0 || len(got[1].shellLines()) > 0 || !got[0].TakesArguments() || got[2].TakesArguments() {
		t.Error("what runs or takes arguments")
	}
	notesHold(t, notes)
}

// A file that can't be used is named with its line.
func TestCommandsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a.md":   {"one\ntwo !{ls\n", "a.md:2: !{ isn't closed with }"},
		"b.md":   {"---\ndescription: x\n---\none\n@{}", "b.md:5: @{} is empty"},
		"c.md":   {"---\ndescription: x\n", "c.md:1: the front matter isn't closed"},
		"d.md":   {"---\ndescription: x\nb: [\n---\nx", "d.md:3: the front matter isn't valid YAML"},
		"e.md":   {"---\ndescription: x\n---\n \n", "e.md:4: the prompt is empty"},
		"f.toml": {"description = \"x\"\n", "f.toml: expected prompt"},
		"g.toml": {"\nprompt = \"x\n", "g.toml:2: basic strings cannot have new lines"},
		"h.toml": {"prompt = '''x\n", "h.toml:1: multiline literal string not terminated"},
		"i.toml": {"prompt = \"\"\"\nx\n\\q\"\"\"\n", "i.toml:3: invalid escape"},
		"j.toml": {"prompt\n", "j.toml:1: expected '=' after key"},
		"k.toml": {"prompt = 'a' b\n", "k.toml:1: expected newline"},
		"l.toml": {"prompt = 'a'\nprompt = 'b'\n", "l.toml:2: prompt is there twice"},
		"m.toml": {"prompt = '''\none\n!{x\n'''\n", "m.toml:3: !{ isn't closed with }"},
		"n n.md": {"x", "its name is not one of"},
		"big.md": {strings.Repeat("x", maxDefinition+1), "it has more than 64 KB"},
		"bin.md": {"\x00\x01", "binary"},
		"o.toml": {"prompt = \n", "o.toml:1: unexpected character"},
		"p.toml": {"prompt = \"\\ud800\"", "p.toml:1: escape sequence is not a valid"},
	} {
		dir := tree(t, map[string]string{"commands/" + name: c.text})
		got, notes := Commands(Places{Own: dir})
		if len(got) > 0 || len(notes) != 1 || !strings.Contains(notes[0], c.want) {
			t.Errorf("%s: got %v, %q, want %q", name, got, notes, c.want)
		}
	}
}

// Too many files are noted.
func TestManyCommands(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range maxDefinitions + 1 {
		files[fmt.Sprintf("commands/c%d.md", i)] = "x"
	}
	got, notes := Commands(Places{Own: tree(t, files)})
	if len(got) != maxDefinitions || len(notes) != 1 {
		t.Errorf("%d commands, %q", len(got), notes)
	}
}

// Whatever a command file contains, reading it ends without a panic.
func FuzzCommandFiles(f *testing.F) {
	for _, s := range []string{"prompt = \"a\\u0041\"", "prompt = '''x'''''", "a = \"\"\"\\\n  x\"\"\"", "!{a{b}c} @{x} {{args}}", "---\na: b\n---\nx", "\"", "a = \"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = toml.Read([]byte(text))
		_, _ = braces.parts(text, 1, false)
		_, _ = dollars.parts(text, 1, false)
		_, _ = fromYAML(text)
		_, _, _ = new(Command).fromMarkdown(text)
	})
}
