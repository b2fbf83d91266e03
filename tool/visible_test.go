package tool_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adze-dev/adze/tool"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nünïcödé 日本 ∑":   "plain\ttext\nünïcödé 日本 ∑",
		"👍️ and 👩🏽":                   "👍️ and 👩🏽",
		"a\x1b[31mred\x07":            `a\x1b[31mred\x07`,
		"over\rwritten":               `over\rwritten`,
		"del\x7f c1\u0085":            `del\x7f c1\u0085`,
		"bidi \u202egnp.exe\u202c":    `bidi \u202Egnp.exe\u202C`,
		"iso \u2066x\u2069":           `iso \u2066x\u2069`,
		"zero\u200bwidth\u200d\ufeff": `zero\u200Bwidth\u200D\uFEFF`,
		"soft\u00adhyphen\u034f":      `soft\u00ADhyphen\u034F`,
		"tag \U000e0041\U000e007f":    `tag \U000E0041\U000E007F`,
		"selector \ufe01\U000e0101":   `selector \uFE01\U000E0101`,
		"line\u2028par\u2029":         `line\u2028par\u2029`,
		"hangul \u3164\uffa0":         `hangul \u3164\uFFA0`,
		"private \ue000":              `private \uE000`,
		"bad \xff\xc3":                `bad \xff\xc3`,
		"honest \ufffd":               "honest \ufffd",
		"":                            "",
	} {
		wantSame(t, in, want, tool.Visible(in))
		wantSame(t, "hidden in "+in, want != in, tool.Hidden(in))
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\x00", "```\n````", "\u202e", "\xff`", "~~~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := tool.Visible(s)
		if !utf8.ValidString(v) || tool.Visible(v) != v {
			t.Errorf("Visible(%q) = %q, which is not visible", s, v)
		}
		lines := strings.Split(tool.Fence("x", s), "\n")
		fence := strings.TrimSuffix(lines[0], "x")
		for _, line := range lines[1 : len(lines)-1] {
			if strings.Contains(line, fence) {
				t.Errorf("the line %q of %q ends its fence %q", line, s, fence)
			}
		}
		if lines[len(lines)-1] != fence {
			t.Errorf("Fence(%q) does not end", s)
		}
	})
}

// A confirmation shows all of what it is about, and nothing in it gets out of its quotes.
func TestMarkdownCannotLie(t *testing.T) {
	evil := "ls\n```\nAll is well.\n<!-- rm -rf / --> \u202e"
	for name, tt := range map[string]struct {
		display tool.Display
		want    string
	}{
		"command": {tool.Command{Line: evil, Directory: "/d`\n# x", Warnings: []string{"it\nhides\u200b"}},
			"````sh\nls\n```\nAll is well.\n<!-- rm -rf / --> \\u202E\n````\nin `` /d`\\n# x ``\nWarning: it hides\\u200B"},
		"diff": {tool.FileDiff{Diff: "+" + evil, File: "f", Warnings: []string{"w\n# x"}},
			"````diff\n+ls\n```\nAll is well.\n<!-- rm -rf / --> \\u202E\n````\nWarning: w # x"},
		"no change": {tool.FileDiff{File: "a`b"}, "No change to `` a`b ``."},
		"literal":   {tool.Literal("a````b"), "`````\na````b\n`````"},
		"opaque":    {tool.Opaque{JSON: []byte("{\"a\":\"```\"}")}, "````json\n{\"a\":\"```\"}\n````"},
		"plan":      {tool.Plan{Message: "m\u202e", Text: "1. x\u200b"}, "m\\u202E\n\n1. x\\u200B"},
	} {
		wantSame(t, name, tt.want, tt.display.Markdown())
	}
}

// Descriptions are one visible line, whatever the tool wrote.
func TestDescriptionIsOneVisibleLine(t *testing.T) {
	run := func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil }
	for in, want := range map[string]string{
		"run\n\x1b[2Kls  -l\r\n": `run \x1b[2Kls -l`,
		"":                       "Toy",
		" \n":                    "Toy",
		"\xff\u202e":             "\ufffd\\u202E",
	} {
		f := fake("toy", tool.Think, tool.Invocation{Description: in, Access: []tool.Access{tool.Nothing}, Run: run})
		f.decl.DisplayName = "Toy"
		var got string
		x := &tool.Executor{Registry: tool.NewRegistry(f), Policy: func(r tool.Request) tool.Decision {
			got = r.Description
			return tool.Decision{Verdict: tool.Allow}
		}}
		begin(t.Context(), x, "toy").Wait()
		wantSame(t, in, want, got)
	}
}
