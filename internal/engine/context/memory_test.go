package contextfiles

import (
	"strings"
	"testing"
)

func TestFact(t *testing.T) {
	for in, want := range map[string]string{
		"a":                           "a",
		"  a\n\t b\r\nc  ":            "a b c",
		"- a":                         "a",
		"- - * a - b":                 "a - b",
		"-":                           "",
		"-a":                          "-a",
		"**bold** x":                  "**bold** x",
		"":                            "",
		"+ a":                         "a",
		"a\x00 \x1b[31mb\u202e c\x07": "a [31mb c", // one such fact used to make the file binary, and all others unread
	} {
		if got := Fact(in); got != want {
			t.Errorf("Fact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAddFact(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "## Added Memories\n- F\n"},
		{"blank", "\n", "\n## Added Memories\n- F\n"},
		{"no line end", "a", "a\n\n## Added Memories\n- F\n"},
		{"a section at the end", "a\n\n## Added Memories\n- A\n", "a\n\n## Added Memories\n- A\n- F\n"},
		{"without line end", "## Added Memories\n- A", "## Added Memories\n- A\n- F\n"},
		{"an empty section", "## Added Memories", "## Added Memories\n- F\n"},
		{"in the middle", "## Qwen Added Memories\n- A\n\n## B\nb\n", "## Qwen Added Memories\n- A\n- F\n\n## B\nb\n"},
		{"with sections in it", "## Added Memories\n### S\n- A\n# B\n", "## Added Memories\n### S\n- A\n- F\n# B\n"},
		{"in code", "```\n## Added Memories\n```\n", "```\n## Added Memories\n```\n\n## Added Memories\n- F\n"},
		{"code in it", "## Added Memories\n```\n# x\n```\n- A\n", "## Added Memories\n```\n# x\n```\n- A\n- F\n"},
		{"there", "## Added Memories\n* f  \n## B\n", ""},
		{"there, with a plus", "## Added Memories\n+ f\n", ""},
		{"there, elsewhere", "- F\n## Added Memories\n", "- F\n## Added Memories\n- F\n"},
	} {
		got, added := AddFact(tt.text, "F")
		if want := tt.want; added != (want != "") || added && got != want || !added && got != tt.text {
			t.Errorf("%s: %q, %v", tt.name, got, added)
		}
	}
}

// Adding a fact only ever inserts lines, and a fact that was added is there.
func FuzzAddFact(f *testing.F) {
	f.Add("a\n## Added Memories\n- x\n\n# b", "y")
	f.Add("```\n## Added Memories\n", "y")
	f.Add("## Qwen Added Memories", "- y\nz")
	f.Fuzz(func(t *testing.T, text, said string) {
		fact := Fact(said)
		if fact == "" {
			return
		}
		got, added := AddFact(text, fact)
		if !added {
			if got != text {
				t.Errorf("%q became %q", text, got)
			}
			return
		}
		rest := got
		for line := range strings.Lines(text) {
			_, after, ok := strings.Cut(rest, strings.TrimSuffix(line, "\n"))
			if !ok {
				t.Fatalf("%q is lost of %q: %q", line, text, got)
			}
			rest = after
		}
		if _, again := AddFact(got, fact); again && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
			t.Errorf("%q is added twice to %q", fact, got)
		}
	})
}
