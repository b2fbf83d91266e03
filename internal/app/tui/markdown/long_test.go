package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// streamed adds a text in pieces and returns all lines.
func streamed(text string, piece, width int) []cell.Line {
	var s Stream
	var out []cell.Line
	for len(text) > 0 {
		n := min(piece, len(text))
		finished, _ := s.Add(text[:n], width)
		out = append(out, finished...)
		text = text[n:]
	}
	return append(out, s.End(width)...)
}

// Long blocks used to be parsed as a whole for each piece, so 10 MB without a newline took hours. They are finished in parts,
// and nothing of them is lost.
func TestLongBlocks(t *testing.T) {
	words := strings.Repeat("word ", 5_000)
	var items, code, rows strings.Builder
	for i := range 800 {
		fmt.Fprintf(&items, "- item %d of the list\n  - nested %d\n", i+1, i+1)
		fmt.Fprintf(&code, "line %d of the code\n", i+1)
		fmt.Fprintf(&rows, "| row %d | of the table |\n", i+1)
	}
	for name, test := range map[string]struct {
		text string
		want func(lines []string) bool
	}{
		"words": {words, func(l []string) bool {
			return strings.Count(strings.Join(l, " "), "word") == 5_000 && !contains(l, "")
		}},
		"no space": {strings.Repeat("ä", 15_000), func(l []string) bool {
			return strings.Join(l, "") == strings.Repeat("ä", 15_000) && !contains(l, "")
		}},
		"list": {items.String(), func(l []string) bool {
			return len(l) == 1600 && l[2] == "• item 2 of the list" && l[1598] == "• item 800 of the list" && l[1599] == "  • nested 800"
		}},
		"code": {"```\n" + code.String() + "```\nafter", func(l []string) bool {
			return len(l) == 802 && l[0] == "  line 1 of the code" && l[799] == "  line 800 of the code" && l[801] == "after"
		}},
		"two codes": {"```\n" + strings.Repeat("x\n", 1600) + "```\n" + "```\n" + strings.Repeat("y\n", 6000) + "```\n", func(l []string) bool {
			return len(l) == 7601 && l[1599] == "  x" && l[1600] == "" && l[4001] == "  y"
		}},
		"table": {"| a | b |\n|---|---|\n" + rows.String(), func(l []string) bool {
			return contains(l, "row 1 ") && contains(l, "row 800  of the table")
		}},
	} {
		for _, piece := range []int{501, 8000, 1 << 20} {
			var lines []string
			for _, l := range streamed(test.text, piece, 80) {
				lines = append(lines, strings.TrimRight(l.String(), " "))
			}
			if !test.want(lines) {
				t.Errorf("%s in pieces of %d: %d lines\n%.800s", name, piece, len(lines), strings.Join(lines, "\n"))
			}
		}
	}
}

func contains(lines []string, want string) bool {
	for _, l := range lines {
		if strings.Contains(l, want) && (want != "" || l == "") {
			return true
		}
	}
	return false
}

// A line of 5,000 list markers used to take seconds: goldmark opens a list in a list for each.
func TestNesting(t *testing.T) {
	for _, marker := range []string{"1. ", "> ", "- ", ">", "* 1) "} {
		text := strings.Repeat(marker, 200)
		if got := limitMarkers(text); strings.Count(got, "\\") != 1 || strings.ReplaceAll(got, "\\", "") != text {
			t.Errorf("%q became %.200q", marker, got)
		}
		if got := limitMarkers(limitMarkers(text)); got != limitMarkers(text) {
			t.Errorf("%q is not the same when it is tamed again", marker)
		}
	}
	for _, text := range []string{"- - a", "> > > quoted", "1. one\n2. two\n", strings.Repeat("-", 400), strings.Repeat("* a\n", 100)} {
		if got := limitMarkers(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if lines := Render(strings.Repeat("1. ", 10_000), 80); len(lines) == 0 {
		t.Error("nothing is shown")
	}
}
