package paint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/dev/screentest"
)

// newAnswering is a terminal that answers probes.
func newAnswering(columns, rows int) *terminal {
	var reports [][2]int
	reply := func(s string) {
		var r, c int
		if n, _ := fmt.Sscanf(s, "\x1b[%d;%dR", &r, &c); n == 2 {
			reports = append(reports, [2]int{c, r})
		}
	}
	t := &terminal{Screen: screentest.New(columns, rows, reply), columns: columns, rows: rows}
	t.Painter = paint.New(t, paint.Options{
		Size: func() (int, int) { return t.columns, t.rows },
		Report: func() (int, int, bool) {
			r := reports[0]
			reports = reports[1:]
			return r[0], r[1], true
		},
	})
	return t
}

// show paints a live area of some rows as wide as the terminal, below lines that are finished.
func (t *terminal) show(going int, finished ...string) string {
	var live []string
	for i := range going {
		live = append(live, fmt.Sprintf("going %d", i))
	}
	live = append(live, strings.Repeat("-", t.columns), "> x", strings.Repeat("s", t.columns))
	row := max(0, len(live)-2)
	if limit := max(1, t.rows-1); len(live) > limit { // as the screen does
		live = live[len(live)-limit:]
		row = max(0, len(live)-2)
	}
	t.Paint(paint.Frame{Finished: lines(finished...), Live: lines(live...), Cursor: paint.Position{Row: row, Column: 3}})
	return strings.Join(live, "\n") + "\n"
}

// A terminal that became much smaller than the live area kept rows of it in its scrollback, and showed them above the new area
// when it was enlarged: a second rule, a second prompt.
func TestSmallerThanTheLiveArea(t *testing.T) {
	for _, test := range []struct {
		name  string
		going int
		sizes [][2]int
		small string // finished while the terminal is small
	}{
		{"20×5", 6, [][2]int{{20, 5}}, ""},
		{"20×5, with a line", 6, [][2]int{{20, 5}}, "small"},
		{"lower", 12, [][2]int{{80, 5}}, "small"},
		{"narrower", 6, [][2]int{{4, 24}}, "sm"},
		{"in steps", 6, [][2]int{{60, 10}, {20, 5}, {10, 4}, {20, 8}, {40, 12}}, "small"},
		{"a wrapped line", 6, [][2]int{{30, 10}}, "a line that was made for the old width, and that the terminal wraps — once"},
		{"one cell", 3, [][2]int{{1, 1}}, ""},
		{"few cells", 3, [][2]int{{4, 4}, {3, 3}, {2, 2}, {1, 1}, {2, 2}, {4, 3}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newAnswering(80, 24)
			want := "one\ntwo\n"
			s.show(test.going, "one", "two")
			for _, size := range test.sizes {
				s.resize(size[0], size[1])
				s.show(test.going)
			}
			if test.small != "" {
				s.show(test.going, test.small)
				want += test.small + "\n"
			}
			s.resize(80, 24)
			want += s.show(test.going)
			if d := cmp.Diff(want, s.Text()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever the sizes are, nothing of an old live area is left when the terminal is large again, and no finished line is lost.
func TestAnySizeAndLargeAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newAnswering(40, 12)
		s.KeepsErased = rapid.Bool().Draw(t, "keeps erased")
		going := rapid.IntRange(0, 6).Draw(t, "going")
		var finished []string
		for range rapid.IntRange(1, 12).Draw(t, "frames") {
			var now []string
			if rapid.Bool().Draw(t, "resize") {
				s.resize(rapid.IntRange(1, 40).Draw(t, "columns"), rapid.IntRange(1, 14).Draw(t, "rows"))
			}
			for range rapid.IntRange(0, 2).Draw(t, "lines") {
				letter := string(rune('a' + len(finished) + len(now)))
				now = append(now, strings.Repeat(letter, rapid.IntRange(1, 90).Draw(t, "length")))
			}
			finished = append(finished, now...)
			s.show(going, now...)
		}
		s.resize(60, 200)
		live := s.show(going)
		want := strings.Join(append(finished, live), "\n")
		if d := cmp.Diff(want, s.Text()); d != "" {
			t.Fatal(d)
		}
	})
}

// tmux wraps the cells that were erased from the middle of a row. If a rule became a short row just before the terminal was
// made narrower, that row was left behind.
func TestShorterRow(t *testing.T) {
	s := newAnswering(40, 12)
	s.KeepsErased = true
	paintLive := func(live ...string) {
		s.Paint(paint.Frame{Live: lines(live...), Cursor: paint.Position{Row: len(live) - 1, Column: 3}})
	}
	paintLive(strings.Repeat("-", 40), "> x")
	paintLive("..", strings.Repeat("=", 40), "> x")
	s.resize(15, 12)
	paintLive("..", strings.Repeat("-", 15), "> x")
	if got, want := s.Text(), "..\n---------------\n> x\n"; got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}

// A terminal that became lower, and high again before the program noticed, has dropped the rows below the cursor.
func TestRedraw(t *testing.T) {
	s := newAnswering(40, 12)
	want := s.show(1, "one")
	s.resize(10, 3)
	s.resize(40, 12)
	s.Redraw()
	s.show(1)
	if got := s.Text(); got != "one\n"+want {
		t.Errorf("shows %q", got)
	}
}
