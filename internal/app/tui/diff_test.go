package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/tool"
)

// A change of one word in a minified file used to take 188 rows, without a mark on the change.
func TestDiffCutsAroundChange(t *testing.T) {
	long := strings.Repeat("var x=1;", 1000)
	diff := "@@ -1,2 +1,2 @@\n-" + long + "old" + ";" + long + "\n+" + long + "new" + ";" + long + "\n " + long + "\n"
	for _, width := range []int{40, 80, 160} {
		lines := DiffLines(diff, width)
		if len(lines) != 3 {
			t.Fatalf("%d lines", len(lines))
		}
		for i, want := range []string{"old", "new", "var"} {
			l := lines[i]
			if l.Width() > width || !strings.Contains(l.String(), want) || !strings.HasSuffix(l.String(), "…") {
				t.Errorf("%d columns: %q", width, l.String())
			}
			if i < 2 && markedText(l) != want {
				t.Errorf("%d columns: marked %q", width, markedText(l))
			}
		}
	}
	if all := DiffLines(diff, 0); len(all[1].String()) < 2*len(long) {
		t.Error("width 0 cuts lines")
	}
}

// What is added is never omitted without a count.
// A line whose change reaches into a second row has all that fits into that row. It used to lose its last character for "…".
func TestDiffFillsRows(t *testing.T) {
	diff := "@@ -1 +1 @@\n-    for i in range(len(items) - 1):\n+    for item in items:\n"
	if got := DiffLines(diff, 40)[0].String(); !strings.HasSuffix(got, "- 1):") {
		t.Errorf("%q", got)
	}
	long := "@@ -1 +1 @@\n-a " + strings.Repeat("b", 5000) + " c\n+a " + strings.Repeat("d", 5000) + " c\n"
	for width := 1; width < 100; width++ {
		for _, l := range DiffLines(long, width) {
			text, _, _ := strings.Cut(l.String()[len("   1     │"):], "… ")
			if rows := (len([]rune(text)) + max(1, width-gutter)) / max(1, width-gutter); rows > changedRows+1 {
				t.Errorf("width %d: %d rows", width, rows)
			}
		}
	}
}

// A diff of several files names each. A removed line that looks like the header of a file is one of the hunk.
func TestDiffOfSeveralFiles(t *testing.T) {
	diff := "--- a.sql\tCurrent\n+++ a.sql\tProposed\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n x\n" +
		"--- b.txt\tCurrent\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
	var got []string
	for _, l := range DiffLines(diff, 80) {
		got = append(got, l.String())
	}
	want := []string{"  a.sql", "   1     │--- old", "       1 │+++ new", "   2   2 │ x", "  b.txt (deleted)", "   1     │-b"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestDiffCountsWhatIsCut(t *testing.T) {
	text := strings.Repeat("é", 3000)
	diff := "@@ -0,0 +1 @@\n+" + text + "\n"
	l := DiffLines(diff, 80)[0].String()
	shown := strings.Count(l, "é")
	if !cutsDiff(diff, 80) || !strings.HasSuffix(l, " more characters") || shown < 3*69 || shown >= 3000 {
		t.Errorf("%d shown: %q", shown, l[len(l)-40:])
	}
}

// Words are marked in several lines that are replaced by as many.
func TestDiffMarksWords(t *testing.T) {
	lines := DiffLines("@@ -1,2 +1,2 @@\n-a one\n-b two\n+a 1\n+b 2\n", 80)
	var got []string
	for _, l := range lines {
		got = append(got, markedText(l))
	}
	if s := strings.Join(got, " "); s != "one two 1 2" {
		t.Error(s)
	}
}

func markedText(l cell.Line) string {
	for _, s := range l {
		if s.Style&cell.Underline != 0 {
			return s.Text
		}
	}
	return ""
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"\n \n", 5, ""},
		{"a\nb\n", 0, ""},
		{"a\nb\n", 2, "    a|    b"},
		{"a\n\nb\n", 2, "    … 1 line above (Ctrl+O)|    |    b"},
		{"10%\r20%\r100%\r\n", 5, "    100%"},
		{"\x1b[31mred\x1b[m \x1b]0;title\ax\x00", 5, "    red x"},
		{strings.Repeat("x", 1<<20), 5, "    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"},
	} {
		var got []string
		for _, l := range tail(tt.text, tt.limit, 40, "Ctrl+O") {
			got = append(got, l.String())
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%.20q: %q, not %q", tt.text, s, tt.want)
		}
	}
}

// A row of a trial's question wraps at words. At 40 columns "1 commit: Fix the total" used to be cut in the middle of one.
func TestEffectRowsWrap(t *testing.T) {
	f := tool.Effects{Changes: []tool.Effect{{Path: ".git/", Kind: tool.EffectChanged, Files: 8, Note: "1 commit: Fix the total of empty reports"}}}
	words := strings.Fields(f.Rows()[0].Cells[0])
	var got []string
	for _, l := range effectLines(f, 40) {
		if l.Width() > 40 {
			t.Errorf("%q is too wide", l)
		}
		got = append(got, strings.Fields(l.String())...)
	}
	if !slices.Equal(got[1:], words) {
		t.Errorf("%q, not %q", got[1:], words)
	}
}
