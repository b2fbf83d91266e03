package openai_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
)

// However a server cuts its content into pieces, only what is between leading tags is a thought.
func TestThinkTags(t *testing.T) {
	for _, tt := range []struct{ name, content, thought, text string }{
		{"none", "Hello.", "", "Hello."},
		{"leading", "<think>I see.</think>Hello.", "I see.", "Hello."},
		{"with blank lines", "\n<think>\nI see.\n</think>\n\nHello.\n", "I see.\n", "Hello.\n"},
		{"empty", "<think>\n\n</think>\n\nHello.", "", "Hello."},
		{"not closed", "<think>I see", "I see", ""},
		{"closed in half", "<think>I see</thi", "I see</thi", ""},
		{"opened in half", "<thin", "", "<thin"},
		{"another tag", "<thing>a</thing>", "", "<thing>a</thing>"},
		{"in the middle", "Write <think>a</think> first.", "", "Write <think>a</think> first."},
		{"in code", "```\n<think>a</think>\n```", "", "```\n<think>a</think>\n```"},
		{"in quotes", "`<think>` opens a thought, `</think>` closes it.", "", "`<think>` opens a thought, `</think>` closes it."},
		{"only the first", "<think>a</think>b<think>c</think>", "a", "b<think>c</think>"},
		{"tags inside", "<think>a < b, </b> and <think></think>c", "a < b, </b> and <think>", "c"},
		{"letters of two bytes", "<think>ä</think>ö", "ä", "ö"},
		{"nothing but whitespace", " \n", "", " \n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.content) + 1 { // pieces of 0 (all at once), 1, 2, … bytes
				m, _ := open(t, script{Answers: []answer{{Text: tt.content, Faults: faults{Split: n}}}})
				var thought, text strings.Builder
				for e, err := range m.Stream(t.Context(), request("hi")) {
					if err != nil {
						t.Fatal(err)
					}
					switch e := e.(type) {
					case model.Thought:
						if thought.WriteString(string(e)); e == "" {
							t.Error("an empty thought")
						}
					case model.Sealed:
						t.Errorf("a thought between tags goes back: %s", e.JSON)
					case model.Text:
						text.WriteString(string(e))
					}
				}
				if thought.String() != tt.thought || text.String() != tt.text {
					t.Fatalf("pieces of %d bytes: thought %q, text %q", n, thought.String(), text.String())
				}
			}
		})
	}
}
