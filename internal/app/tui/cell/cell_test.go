package cell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                   "plain",
		"\x1b[2Jgone":             "�[2Jgone",
		"a\tb":                    "a   b",
		"line\r":                  "line",
		"\x9b31m \xff":            "�31m �",
		"\u009b31m":               "�31m",
		"\x1b]52;c;aGk=\x07":      "�]52;c;aGk=�",
		"evil\u202etxt.exe":       "evil�txt.exe",
		"漢字 e\u0301 👩‍👩‍👧":        "漢字 e\u0301 👩‍👩‍👧",
		"a real \ufffd character": "a real \ufffd character",
	} {
		if got := cell.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in     string
		width  int
		indent string
		want   []string
	}{
		{"short", 10, "", []string{"short"}},
		{"one two three", 7, "", []string{"one two", "three"}},
		{"one two three", 8, "  ", []string{"one two", "  three"}},
		{"one  two", 4, "", []string{"one", "two"}},
		{"abcdefghij", 4, "", []string{"abcd", "efgh", "ij"}},
		{"ab cdefghij", 4, " ", []string{"ab", " cde", " fgh", " ij"}},
		{"漢字漢字漢字", 5, "", []string{"漢字", "漢字", "漢字"}},
		{"漢字。漢", 4, "", []string{"漢", "字。", "漢"}},
		{"  two lines", 6, "", []string{"  two", "lines"}},
		{"trailing   ", 8, "", []string{"trailing"}},
		{"", 0, "", []string{""}},
	} {
		var got []string
		for _, l := range cell.Wrap(cell.Text(c.in), c.width, cell.Text(c.indent)) {
			got = append(got, l.String())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("Wrap(%q, %d): %s", c.in, c.width, d)
		}
	}
}

// Wrapped lines fit, and no character except spaces is lost.
func TestWrapKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab  漢。é👍-"))).Draw(t, "text")
		cut := rapid.IntRange(0, len([]rune(text))).Draw(t, "cut")
		width := rapid.IntRange(2, 12).Draw(t, "width")
		r := []rune(text)
		l := cell.Line{{Text: string(r[:cut]), Style: cell.Bold}, {Text: string(r[cut:])}}
		var b strings.Builder
		for _, part := range cell.Wrap(l, width, nil) {
			if part.Width() > width {
				t.Fatalf("%q has %d cells, over %d", part, part.Width(), width)
			}
			b.WriteString(part.String())
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(b.String()) != squeeze(text) {
			t.Fatalf("got %q, want %q", b.String(), text)
		}
	})
}

func TestCutAndRight(t *testing.T) {
	l := cell.Line{{Text: "漢字", Style: cell.Bold}, {Text: " and more"}}
	for width, want := range map[int]string{0: "", 1: "…", 2: "…", 3: "漢…", 4: "漢…", 5: "漢字…", 13: "漢字 and more"} {
		if got := l.Cut(width).String(); got != want {
			t.Errorf("Cut(%d) = %q, want %q", width, got, want)
		}
	}
	if got := l.Right(cell.Text("9 s"), 20).String(); got != "漢字 and more    9 s" {
		t.Errorf("Right: %q", got)
	}
	if got := l.Right(cell.Text("9 s"), 10).String(); got != "漢字 … 9 s" {
		t.Errorf("Right: %q", got)
	}
}

func TestAppend(t *testing.T) {
	l := cell.Line{{Text: "ok", Style: cell.Green | cell.Bold}, {Text: " x", Link: "https://a/\x1bb c"}}
	for c, want := range map[cell.Colors]string{
		cell.Full:       "\x1b[1;32mok\x1b[m\x1b]8;;https://a/bc\x1b\\ x\x1b]8;;\x1b\\",
		cell.Attributes: "\x1b[1mok\x1b[m\x1b]8;;https://a/bc\x1b\\ x\x1b]8;;\x1b\\",
		cell.None:       "ok x",
	} {
		if got := string(l.Append(nil, c)); got != want {
			t.Errorf("colors %d: %q, want %q", c, got, want)
		}
	}
}

// On a light background, dim text is gray and added text green, with 16 colors too. Both used to be black there.
func TestLight(t *testing.T) {
	for _, c := range []struct {
		style cell.Style
		with  cell.Colors
		want  string
	}{
		{cell.Dim, cell.Light, "\x1b[2;90mx\x1b[m"},
		{cell.Dim, cell.Light | cell.Tinted, "\x1b[38;5;243mx\x1b[m"},
		{cell.GreenText | cell.Added, cell.Light, "\x1b[32mx\x1b[m"},
		{cell.GreenText | cell.Added, cell.Light | cell.Tinted, "\x1b[38;5;22;48;5;194mx\x1b[m"},
		{cell.Dim, cell.Full, "\x1b[2mx\x1b[m"},
	} {
		if got := string(cell.Styled("x", c.style).Append(nil, c.with)); got != c.want {
			t.Errorf("style %d, colors %d: %q, want %q", c.style, c.with, got, c.want)
		}
	}
}
