package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// diffRow is a line of a diff; or without a mark "⋮" between hunks, or the name of a file.
type diffRow struct {
	file     string
	old, now int // line numbers; 0: the line isn't in that file
	mark     byte
	text     string
	from, to int // what differs from the line that it replaces, or that replaces it; equal: that isn't known
}

const (
	// gutter is the width of line numbers and marks.
	gutter = 11
	// changedRows is how many rows of the terminal an added or removed line takes at most.
	changedRows = 8
)

// DiffLines shows a unified diff with line numbers: old, new, and a mark before each line. Very long lines are cut
// around the change; with a width of 0 they aren't.
func DiffLines(diff string, width int) []cell.Line {
	rows := diffRows(diff)
	markWords(rows)
	out := make([]cell.Line, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.line(width))
	}
	return out
}

// cutsDiff reports whether DiffLines omits text that changes.
func cutsDiff(diff string, width int) bool {
	limit := changedRows * max(1, width-gutter)
	for l := range strings.SplitSeq(diff, "\n") {
		if len(l) > limit && (l[0] == '+' || l[0] == '-') {
			return true
		}
	}
	return false
}

// diffRows reads a unified diff. In one of several files, each begins with its name.
func diffRows(diff string) []diffRow {
	var out []diffRow
	var h hunk
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	files := 0
	for i, l := range lines {
		if strings.HasPrefix(l, "@@") {
			if n := len(out); n > 0 && out[n-1].file == "" {
				out = append(out, diffRow{})
			}
			h = readHunk(l)
			continue
		}
		if h.ended() && strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") {
			out = append(out, diffRow{file: fileName(l, lines[i+1])})
			h = hunk{}
			files++
			continue
		}
		if h == (hunk{}) || strings.HasPrefix(l, `\`) { // the header, or "no newline at end of file"
			continue
		}
		r := diffRow{mark: ' '}
		if l != "" {
			r.text = cell.Clean(l[1:])
		}
		switch {
		case strings.HasPrefix(l, "+"):
			r.mark, r.now = '+', h.now
			h.now++
		case strings.HasPrefix(l, "-"):
			r.mark, r.old = '-', h.old
			h.old++
		default:
			r.old, r.now = h.old, h.now
			h.old, h.now = h.old+1, h.now+1
		}
		out = append(out, r)
	}
	if files == 1 { // its name is beside the diff
		out = slices.DeleteFunc(out, func(r diffRow) bool { return r.file != "" })
	}
	return out
}

// fileName reads the name of a file from the two lines above its hunks.
func fileName(before, after string) string {
	name, _, _ := strings.Cut(after[len("+++ "):], "\t")
	if name == "/dev/null" {
		name, _, _ = strings.Cut(before[len("--- "):], "\t")
		return name + " (deleted)"
	}
	return name
}

// hunk is where the reader of a hunk is: line numbers in both files, and where the hunk ends in them.
type hunk struct{ old, now, oldEnd, nowEnd int }

func (h hunk) ended() bool { return h.old >= h.oldEnd && h.now >= h.nowEnd }

// readHunk reads the line numbers of "@@ -3,5 +3,4 @@".
func readHunk(l string) hunk {
	var a, b string
	if n, _ := fmt.Sscanf(l, "@@ -%s +%s ", &a, &b); n < 2 {
		return hunk{1, 1, math.MaxInt, math.MaxInt}
	}
	side := func(s string) (start, end int) {
		n := 1
		fmt.Sscanf(s, "%d,%d", &start, &n)
		start = max(1, start)
		return start, start + n
	}
	var h hunk
	h.old, h.oldEnd = side(a)
	h.now, h.nowEnd = side(b)
	return h
}

// line is a row as it is shown in a width; 0: all of it.
func (r diffRow) line(width int) cell.Line {
	switch {
	case r.file != "":
		return cell.Styled("  "+cell.Clean(r.file), cell.Bold)
	case r.mark == 0:
		return cell.Styled("        ⋮", cell.Dim)
	}
	number := func(n int) string {
		if n == 0 {
			return "    "
		}
		return fmt.Sprintf("%4d", n)
	}
	style := map[byte]cell.Style{'+': cell.GreenText | cell.Added, '-': cell.Red | cell.Removed}[r.mark]
	before, after := "", ""
	if room := width - gutter; width > 0 && len(r.text) > max(1, room) {
		r, before, after = r.cut(max(1, room))
	}
	out := cell.Line{{Text: number(r.old) + number(r.now) + " │", Style: cell.Dim}}
	for _, p := range []cell.Span{
		{Text: string(r.mark), Style: style}, {Text: before, Style: cell.Dim}, {Text: r.text[:r.from], Style: style},
		{Text: r.text[r.from:r.to], Style: style | cell.Underline}, {Text: r.text[r.to:], Style: style},
		{Text: after, Style: cell.Dim},
	} {
		switch n := len(out); {
		case p.Text == "":
		case out[n-1].Style == p.Style:
			out[n-1].Text += p.Text
		default:
			out = append(out, p)
		}
	}
	return out
}

// cut shortens a line that is longer than room to what changes in it. Of a line that is new or removed, that is all.
// before and after stand for what is omitted.
func (r diffRow) cut(room int) (short diffRow, before, after string) {
	from, to := 0, min(len(r.text), room-1) // unchanged
	switch {
	case r.from < r.to: // with text around it
		from = max(0, r.from-room/3)
		to = min(r.to, from+changedRows*room-2)
		to = from + (to-from+room+1)/room*room - 2 // whole rows, with the marks
	case r.mark != ' ':
		to = changedRows * room
	}
	to = min(to, len(r.text))
	for from > 0 && !utf8.RuneStart(r.text[from]) {
		from--
	}
	for to < len(r.text) && !utf8.RuneStart(r.text[to]) {
		to--
	}
	if from > 0 {
		before = "…"
	}
	switch {
	case to == len(r.text):
	case r.mark == ' ', r.from < r.to && r.to <= to:
		after = "…"
	default:
		after = "… " + humanize.Number(utf8.RuneCountInString(r.text[to:])) + " more characters"
	}
	r.text = r.text[from:to]
	r.from, r.to = max(0, r.from-from), min(max(0, r.to-from), len(r.text))
	return r, before, after
}

// markWords finds what differs between removed lines and the same number of added lines that replace them.
func markWords(rows []diffRow) {
	run := func(i int, mark byte) int {
		n := slices.IndexFunc(rows[i:], func(r diffRow) bool { return r.mark != mark })
		if n < 0 {
			n = len(rows) - i
		}
		return n
	}
	for i := 0; i < len(rows); {
		removed := run(i, '-')
		added := run(i+removed, '+')
		for k := range removed {
			if removed == added {
				rows[i+k].compare(&rows[i+removed+k])
			}
		}
		i += max(1, removed+added)
	}
}

// compare marks what differs in two lines, if they have something in common.
func (r *diffRow) compare(by *diffRow) {
	from, toA, toB := differing(r.text, by.text)
	if strings.TrimSpace(r.text[:from]+r.text[toA:]) == "" {
		return
	}
	r.from, r.to = from, toA
	by.from, by.to = from, toB
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
