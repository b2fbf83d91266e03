package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
)

func texts(lines []cell.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"paragraphs", "One *two* **three** `four`\nsame\n\nNext.", "One two three four same\n\nNext.\n"},
		{"heading", "# Title\ntext", "Title\n\ntext\n"},
		{"list", "- a\n- b\n  - c\n\n1. x\n2. y", "• a\n• b\n  • c\n\n1. x\n2. y\n"},
		{"loose list", "- a\n\n  more\n\n- b", "• a\n\n  more\n• b\n"},
		{"tasks", "- [x] done\n- [ ] open", "• [x] done\n• [ ] open\n"},
		{"code", "```go\nfunc f() {\n\treturn\n}\n```", "  func f() {\n      return\n  }\n"},
		{"quote", "> said\n> so", "│ said so\n"},
		{"rule", "a\n\n---\n\nb", "a\n\n" + strings.Repeat("─", 40) + "\n\nb\n"},
		{"link", "see [docs](https://a.b/c) and https://x.y", "see docs (https://a.b/c) and https://x.y\n"},
		{"table", "| a | long name |\n|---|--:|\n| x | 1 |\n| yy | 22 |", "a   long name\n──  ─────────\nx           1\nyy         22\n"},
		{"wrap", "The script tests its first argument before it is set, so it prints nothing.", "The script tests its first argument before it is\nset, so it prints nothing.\n"},
		{"hanging", "- The script tests its first argument before it is set, so", "• The script tests its first argument before it is\n  set, so\n"},
		{"hostile", "a\x1b[2Jb `\x1b]0;t\x07`", "a�[2Jb �]0;t�\n"},
		{"html", "<b>x</b>", "<b>x</b>\n"},
		{"references", "a &lt; b &amp;&amp; it&#39;s &amp;lt; `&amp;` AT&T; \\&amp; &#27;[2J", "a < b && it's &lt; &amp; AT&T; &amp; �[2J\n"},
		{"numeric references", "it&#039;s &#X27;a&#x27; &#0; &#99999999; &nosuch;", "it's 'a' � &#99999999; &nosuch;\n"},
		{"definitions", "See [docs][1] and [a b].\n\n[1]: https://a.b/c_d_e\n[a b]: /x*y*z \"T\"\n", "See [docs][1] and [a b].\n\n[1]: https://a.b/c_d_e\n[a b]: /x*y*z \"T\"\n"},
		{"addresses", `[a](https://x.y/?a=1&amp;b=2\_c "T &amp; U") ![i](i.png)`, "a (https://x.y/?a=1&b=2_c \"T & U\") [image: i\n(i.png)]\n"},
		{"html block", "<pre>\na\n</pre>\nb", "  <pre>\n  a\n  </pre>\n\nb\n"},
		{"escape", `\*not\* emphasis`, "*not* emphasis\n"},
		{"wide", "| 漢字 | b |\n|---|---|\n| 漢 | c |", "漢字  b\n────  ─\n漢    c\n"},
	} {
		if d := cmp.Diff(c.want, texts(markdown.Render(c.in, 50))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestNarrowTable(t *testing.T) {
	in := "| name | value |\n|---|---|\n| a fairly long name | a fairly long value that wraps |"
	want := "name         value\n───────────  ────────────\na fairly     a fairly\nlong name    long value\n             that wraps\n"
	if d := cmp.Diff(want, texts(markdown.Render(in, 25))); d != "" {
		t.Error(d)
	}
	want = "name: a\n  fairly\n  long name\nvalue: a\n  fairly\n  long value\n  that wraps\n"
	if d := cmp.Diff(want, texts(markdown.Render(in, 12))); d != "" {
		t.Error(d)
	}
}

func TestHighlight(t *testing.T) {
	got := markdown.Highlight([]string{`x := "a\"b" // c`, "/* long", "still */ return 42"}, "go")
	want := []cell.Line{
		{{Text: "x := "}, {Text: `"a\"b"`, Style: cell.Blue}, {Text: " "}, {Text: "// c", Style: cell.Dim}},
		{{Text: "/*", Style: cell.Dim}, {Text: " long", Style: cell.Dim}},
		{{Text: "still */", Style: cell.Dim}, {Text: " "}, {Text: "return", Style: cell.Magenta}, {Text: " "}, {Text: "42", Style: cell.Cyan}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A text that streams in is finished as the same lines as the whole text, whatever the pieces are.
func TestStream(t *testing.T) {
	block := rapid.SampledFrom([]string{
		"A paragraph of several words that is wrapped at the width of this test.\n\n",
		"# A heading\n\n",
		"- one\n- two\n- three **bold**\n\n",
		"1. first\n   - nested\n2. second\n\nText after.\n\n",
		"```go\nfunc main() {\n\n\tprintln(1)\n}\n```\n\n",
		"```\nplain\n```\n\nBetween.\n\n",
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n",
		"> quoted\n> text\n\n",
		"---\n\n",
		"See [the docs][1].\n\n[1]: https://example.com/docs\n[2]: https://example.com/more\n\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		src := strings.Join(rapid.SliceOfN(block, 0, 6).Draw(t, "blocks"), "")
		var s markdown.Stream
		var got []cell.Line
		for rest := src; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 20)).Draw(t, "n")
			finished, live := s.Add(rest[:n], 40)
			got = append(got, finished...)
			rest = rest[n:]
			_ = live
		}
		got = append(got, s.End(40)...)
		if d := cmp.Diff(texts(markdown.Render(src, 40)), texts(got)); d != "" {
			t.Fatalf("%q: %s", src, d)
		}
	})
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n- b\n```\nc", 40)
	f.Fuzz(func(t *testing.T, src string, width int) {
		for _, l := range markdown.Render(src, width%200) {
			if strings.ContainsAny(l.String(), "\x1b\x07\n\r\u009b") {
				t.Fatalf("a control character in %q", l)
			}
		}
		var s markdown.Stream
		s.Add(src, width%200)
		s.End(width % 200)
	})
}

func BenchmarkStream(b *testing.B) {
	src := strings.Repeat("The script tests its first argument before it is set.\n\n- one\n- two\n\n```go\nfunc f() {}\n```\n\n", 20)
	for b.Loop() {
		var s markdown.Stream
		for i := 0; i < len(src); i += 20 {
			s.Add(src[i:min(i+20, len(src))], 80)
		}
	}
	b.SetBytes(int64(len(src)))
}
