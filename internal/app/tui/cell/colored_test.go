package cell_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Colors and attributes are kept, all other sequences are removed.
func TestColored(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain",
		"\x1b[31mred\x1b[m plain":            "\x1b[31mred\x1b[m plain",
		"\x1b[1m\x1b[38;5;208mx\x1b[0my":     "\x1b[1;38;5;208mx\x1b[my",
		"\x1b[48;2;1;2;3mx":                  "\x1b[48;2;1;2;3mx\x1b[m",
		"a\x1b[2Jb\x1b[5;5Hc\x1b[?25ld":      "abcd",
		"a\x1b]0;title\ab\x1b]8;;u\x1b\\c":   "abc",
		"a\x1bPq...\x1b\\b\x1b(0c\x1bcd\x1b": "ab0cd",
		"a\x1b[31":                           "a",
		"a\x1b]0;never ends":                 "a",
		"a\x1b[>1mb\x1b[?1mc":                "abc",
		"a\rb\u202e\u009b31mc":               "a�b��31mc",
	} {
		if got := string(cell.Colored(in).Append(nil, cell.Full)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := string(cell.Colored("\x1b[31mred").Append(nil, cell.Attributes)); got != "red" {
		t.Errorf("with NO_COLOR: %q", got)
	}
}

// Whatever is in a text, what is printed has no sequences but those of colors.
func TestColoredAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("\x1b\x1b\x1b[[[]m;0138\a\\P_x漢\u009bHJ\r\n\x00"))).Draw(t, "text")
		out := string(cell.Colored(s).Append(nil, cell.Full))
		for _, part := range strings.Split(out, "\x1b")[1:] {
			codes, _, ok := strings.Cut(part, "m")
			if !ok || strings.Trim(codes, "[0123456789;:") != "" {
				t.Fatalf("%q prints %q", s, out)
			}
		}
	})
}

func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":           "plain\ttext",
		"\x1b[31mred\x1b[m":       "red",
		"\x1b]52;c;AAAA\aafter":   "after",
		"\x1b]0;title\x1b\\after": "after",
		"\x1bPq#0\x1b\\after":     "after",
		"\x1b]never ends\nnext":   "\nnext",
		"bell\a and \x00nul":      "bell and nul",
		"a\x1b":                   "a",
		"\u009b31m8-bit":          "31m8-bit",
		"漢字 \xff":                 "漢字 �",
	} {
		if got := cell.Strip(in); got != want {
			t.Errorf("Strip(%q) = %q, want %q", in, got, want)
		}
	}
}
