package tui

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// diffLines shows a unified diff with line numbers: old, new, and a mark before each line.
func diffLines(diff string) []cell.Line {
	var out []cell.Line
	var old, now int
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if strings.HasPrefix(l, "@@") {
			if len(out) > 0 {
				out = append(out, cell.Styled("        ⋮", cell.Dim))
			}
			old, now = hunkStart(l)
			continue
		}
		if old == 0 && now == 0 || strings.HasPrefix(l, `\`) { // the header, or "no newline at end of file"
			continue
		}
		text := ""
		if l != "" {
			text = cell.Clean(l[1:])
		}
		switch {
		case strings.HasPrefix(l, "+"):
			out = append(out, diffLine(0, now, '+', text, cell.GreenText))
			now++
		case strings.HasPrefix(l, "-"):
			out = append(out, diffLine(old, 0, '-', text, cell.Red))
			old++
		default:
			out = append(out, diffLine(old, now, ' ', text, cell.Plain))
			old, now = old+1, now+1
		}
	}
	markWords(out)
	return out
}

func diffLine(old, now int, mark rune, text string, style cell.Style) cell.Line {
	number := func(n int) string {
		if n == 0 {
			return "    "
		}
		return fmt.Sprintf("%4d", n)
	}
	return cell.Line{{Text: number(old) + number(now) + " │", Style: cell.Dim},
		{Text: string(mark) + text, Style: style}}
}

// hunkStart reads the line numbers of "@@ -3,5 +3,4 @@".
func hunkStart(l string) (old, now int) {
	var a, b string
	if n, _ := fmt.Sscanf(l, "@@ -%s +%s ", &a, &b); n < 2 {
		return 1, 1
	}
	fmt.Sscanf(a, "%d", &old)
	fmt.Sscanf(b, "%d", &now)
	return max(1, old), max(1, now)
}

// markWords underlines what differs between a removed line and the added line that replaces it.
func markWords(lines []cell.Line) {
	for i := 0; i+1 < len(lines); i++ {
		if !isMark(lines[i], '-') || !isMark(lines[i+1], '+') || i > 0 && isMark(lines[i-1], '-') || i+2 < len(lines) &&
			isMark(lines[i+2], '+') {
			continue
		}
		a, b := lines[i][1].Text[1:], lines[i+1][1].Text[1:]
		from, toA, toB := differing(a, b)
		if from == 0 && toA == len(a) && toB == len(b) {
			continue
		}
		lines[i] = append(lines[i][:1:1], emphasized("-", a, from, toA, cell.Red)...)
		lines[i+1] = append(lines[i+1][:1:1], emphasized("+", b, from, toB, cell.GreenText)...)
	}
}

func isMark(l cell.Line, mark byte) bool {
	return len(l) == 2 && l[1].Text[0] == mark && l[1].Style != cell.Plain
}

// differing is the range in which two texts differ, at the boundaries of words.
func differing(a, b string) (from, toA, toB int) {
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	for from > 0 && !boundary(a, from) {
		from--
	}
	toA, toB = len(a), len(b)
	for toA > from && toB > from && a[toA-1] == b[toB-1] {
		toA, toB = toA-1, toB-1
	}
	for toA < len(a) && !boundary(a, toA) {
		toA, toB = toA+1, toB+1
	}
	return from, toA, toB
}

// boundary reports whether a text can be divided before a byte: beside a space or punctuation.
func boundary(s string, i int) bool {
	word := func(c byte) bool {
		return c >= 0x80 || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return i == 0 || i == len(s) || !word(s[i-1]) || !word(s[i]) && s[i] < 0x80
}

func emphasized(mark, s string, from, to int, style cell.Style) cell.Line {
	var out cell.Line
	for _, p := range []cell.Span{{Text: mark + s[:from], Style: style},
		{Text: s[from:to], Style: style | cell.Underline}, {Text: s[to:], Style: style}} {
		if p.Text != "" {
			out = append(out, p)
		}
	}
	return out
}
