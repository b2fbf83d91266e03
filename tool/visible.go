package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Fence quotes s as a Markdown code block that s can't end, with s made Visible.
func Fence(info, s string) string {
	s = Visible(s)
	fence := strings.Repeat("`", max(3, humanize.LongestRun(s, '`')+1))
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return fence + info + "\n" + s + fence
}

// code quotes s as one line of Markdown code.
func code(s string) string {
	s = Visible(strings.ReplaceAll(s, "\n", "\\n"))
	ticks := strings.Repeat("`", humanize.LongestRun(s, '`')+1)
	if len(ticks) > 1 || strings.HasPrefix(s, " ") {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// Visible replaces what a terminal would not show by escapes: control characters (except newline and tab), invalid
// UTF-8, and characters that hide or reorder text (bidi controls, zero-width, tags, variation selectors).
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case hides(r):
			spell(&b, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Hidden reports whether s contains a character that Visible would replace.
func Hidden(s string) bool { return !isPlain(s) }

func isPlain(s string) bool {
	n := 0
	for n < len(s) && (s[n] >= 0x20 && s[n] < 0x7F || s[n] == '\n' || s[n] == '\t') {
		n++ // the common case
	}
	s = s[n:]
	for i, r := range s {
		if hides(r) {
			return false
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

func spell(b *strings.Builder, r rune) {
	switch {
	case r == '\r':
		b.WriteString(`\r`)
	case r < 0x80:
		fmt.Fprintf(b, "\\x%02x", r)
	case r <= 0xFFFF:
		fmt.Fprintf(b, "\\u%04X", r)
	default:
		fmt.Fprintf(b, "\\U%08X", r)
	}
}

// hides reports whether r is invisible, or changes where other characters appear.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return true
	case r < 0x80:
		return false
	}
	switch r {
	case 0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0x2028, 0x2029, 0x3164,
		0xFFA0:
		return true
	}
	switch {
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors can carry hidden text
		return r != 0xFE0F // emoji use this one
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)
}

// oneLine makes s one visible line, for a description.
func oneLine(s string) string {
	return Visible(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
}
