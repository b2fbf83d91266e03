package paint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/dev/screentest"
)

// terminal is a screen of a changing size with a painter.
type terminal struct {
	*screentest.Screen
	*paint.Painter
	columns, rows int
	written       int
	before        func() // called before each write; may be nil
}

func newTerminal(columns, rows int) *terminal {
	t := &terminal{Screen: screentest.New(columns, rows, nil), columns: columns, rows: rows}
	t.Painter = paint.New(t, paint.Options{Size: func() (int, int) { return t.columns, t.rows }})
	return t
}

func (t *terminal) Write(p []byte) (int, error) {
	t.written += len(p)
	if t.before != nil {
		t.before()
	}
	return t.Screen.Write(p)
}

func (t *terminal) resize(columns, rows int) {
	t.columns, t.rows = columns, rows
	t.Screen.Resize(columns, rows, !t.KeepsRows)
}

func lines(text ...string) []cell.Line {
	var out []cell.Line
	for _, s := range text {
		out = append(out, cell.Text(s))
	}
	return out
}

func TestFrames(t *testing.T) {
	s := newTerminal(20, 6)
	for i, step := range []struct {
		finished, live []string
		want           string
	}{
		{nil, []string{"----", "> ", "status"}, "----\n>\nstatus\n"},
		{[]string{"one"}, []string{"----", "> ", "status"}, "one\n----\n>\nstatus\n"},
		{nil, []string{"par", "----", "> ", "status"}, "one\npar\n----\n>\nstatus\n"},
		{[]string{"par"}, []string{"----", "> ", "status"}, "one\npar\n----\n>\nstatus\n"},
		{[]string{"a line that is longer than the screen"}, []string{"----", "> x", "status"}, "one\npar\na line that is longer than the screen\n----\n> x\nstatus\n"},
		{[]string{"1", "2", "3", "4", "5", "6", "7"}, []string{"----", "> x"}, "one\npar\na line that is longer than the screen\n1\n2\n3\n4\n5\n6\n7\n----\n> x\n"},
		{nil, nil, "one\npar\na line that is longer than the screen\n1\n2\n3\n4\n5\n6\n7\n"},
	} {
		if err := s.Paint(paint.Frame{Finished: lines(step.finished...), Live: lines(step.live...), Cursor: paint.Position{Row: 1, Column: 2}}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.want, s.Text()); d != "" {
			t.Fatalf("step %d: %s", i, d)
		}
	}
	if n := s.State().Erased; n != 0 {
		t.Errorf("erased the screen %d times", n)
	}
}

// Whatever is painted and however the terminal is resized, each finished line is there once, with the live area below.
func TestEveryFinishedLineOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newTerminal(rapid.IntRange(10, 30).Draw(t, "columns"), rapid.IntRange(8, 12).Draw(t, "rows"))
		s.Synchronized = rapid.Bool().Draw(t, "synchronized")
		var finished []string
		var partial string
		n := 0
		for range rapid.IntRange(1, 30).Draw(t, "frames") {
			var now []string
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				s.resize(rapid.IntRange(10, 30).Draw(t, "columns"), rapid.IntRange(8, 12).Draw(t, "rows"))
			case 1:
				for range rapid.IntRange(1, 40).Draw(t, "lines") {
					n++
					now = append(now, fmt.Sprintf("line %d %s.", n, strings.Repeat("漢x", rapid.IntRange(0, 12).Draw(t, "long"))))
				}
			case 2:
				partial += "word"
			case 3:
				if partial != "" {
					now, partial = []string{partial}, ""
				}
			}
			live := []string{"-----", "› x", "ok"}
			if partial != "" && cell.Width(partial) <= s.columns {
				live = slices.Insert(live, 0, partial)
			} else if partial != "" {
				now, partial = append([]string{partial}, now...), ""
			}
			finished = append(finished, now...)
			if err := s.Paint(paint.Frame{Finished: lines(now...), Live: lines(live...), Cursor: paint.Position{Row: len(live) - 2, Column: 3}}); err != nil {
				t.Fatal(err)
			}
			want := strings.Join(append(slices.Clone(finished), live...), "\n") + "\n"
			if got := s.Text(); got != want {
				t.Fatalf("at %d×%d: %s", s.columns, s.rows, cmp.Diff(want, got))
			}
			row, column, visible := s.Cursor()
			if got := s.Lines()[row]; got != "› x" || column != 3 || !visible {
				t.Fatalf("the cursor is in %q at %d, visible %v", got, column, visible)
			}
		}
		if n := s.State().Erased; n != 0 {
			t.Fatalf("erased the screen %d times", n)
		}
		s.Close()
		if !s.Mode(7) || !s.Mode(25) || s.Mode(2026) {
			t.Fatal("modes are left changed")
		}
	})
}

// The same holds if the terminal is resized between any two writes, and the program learns it later or never.
func TestResizedWithoutNotice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var reports [][2]int
		reply := func(s string) {
			var r, c int
			if n, _ := fmt.Sscanf(s, "\x1b[%d;%dR", &r, &c); n == 2 {
				reports = append(reports, [2]int{c, r})
			}
		}
		s := &terminal{Screen: screentest.New(24, 12, reply), columns: 24, rows: 12}
		quiet := 0 // writes since the last resize: more than one within a millisecond or two may leave a row behind
		s.before = func() {
			if quiet++; quiet > 4 && rapid.IntRange(0, 5).Draw(t, "resize") == 0 {
				quiet = 0
				s.Screen.Resize(rapid.IntRange(10, 30).Draw(t, "columns"), rapid.IntRange(9, 14).Draw(t, "rows"), true)
			}
		}
		s.Painter = paint.New(s, paint.Options{
			Size: func() (int, int) { return s.columns, s.rows },
			Report: func() (int, int, bool) {
				r := reports[0]
				reports = reports[1:]
				return r[0], r[1], true
			},
		})
		var finished []string
		partial := ""
		n := 0
		frame := func(now ...string) {
			finished = append(finished, now...)
			live := []string{strings.Repeat("-", 9), "› x", "ok"}
			if partial != "" {
				live = slices.Insert(live, 0, partial)
			}
			if err := s.Paint(paint.Frame{Finished: lines(now...), Live: lines(live...), Cursor: paint.Position{Row: len(live) - 2, Column: 3}}); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "frames") {
			if partial += "ab"; len(partial) > 10 {
				n++
				done := partial
				partial = ""
				frame(done, fmt.Sprintf("line %d", n))
				continue
			}
			frame()
		}
		s.before = nil
		partial = ""
		frame()
		frame()
		want := strings.Join(append(slices.Clone(finished), strings.Repeat("-", 9), "› x", "ok"), "\n") + "\n"
		if got := s.Text(); got != want {
			t.Fatalf("at %d×%d: %s", s.columns, s.rows, cmp.Diff(want, got))
		}
		s.Close()
		if len(reports) > 0 {
			t.Fatalf("%d reports are left for the next program, which would take them for input", len(reports))
		}
	})
}

// A streamed answer writes little more than its bytes.
func TestBytesOfAStream(t *testing.T) {
	s := newTerminal(80, 24)
	live := lines(strings.Repeat("─", 80), "› ", " default · model · context 6%")
	s.Paint(paint.Frame{Live: live, Cursor: paint.Position{Row: 1, Column: 2}})
	s.written = 0
	words := strings.Fields(strings.Repeat("The script tests its first argument before it is set, so it prints nothing. ", 100))
	line, said := "", 0
	for i := 0; i < len(words); i += 5 { // a frame shows the words of about 30 ms
		var done []cell.Line
		for _, w := range words[i:min(i+5, len(words))] {
			if len(line)+len(w) > 78 {
				done = append(done, cell.Text(line))
				line = ""
			}
			line += w + " "
			said += len(w) + 1
		}
		s.Paint(paint.Frame{Finished: done, Live: append(lines(line), live...), Cursor: paint.Position{Row: 2, Column: 2}})
	}
	if s.written > 5*said {
		t.Errorf("wrote %d bytes for an answer of %d", s.written, said)
	}
	t.Logf("%.1f bytes per byte", float64(s.written)/float64(said))
}

// A line of a diff with a background wrapped at the bottom of the screen: the rest of its last row had the background too,
// because terminals fill rows that scroll in with the current one.
func TestWrappedBackground(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool // the rest of the last row is erased
	}{{strings.Repeat("x", 25), true}, {strings.Repeat("x", 20), false}, {strings.Repeat("x", 40), false}, {"x", false}} {
		var out strings.Builder
		p := paint.New(&out, paint.Options{Size: func() (int, int) { return 20, 6 }, Colors: cell.Full | cell.Tinted})
		p.Paint(paint.Frame{Finished: []cell.Line{{{Text: tt.text, Style: cell.Red | cell.Removed}}}, Live: lines("> ")})
		if got := strings.Contains(out.String(), tt.text+"\x1b[m\x1b[K\r\n"); got != tt.want {
			t.Errorf("%d cells: %q", len(tt.text), out.String())
		}
	}
}

func TestHiddenCursorAndTallArea(t *testing.T) {
	s := newTerminal(10, 4)
	s.Paint(paint.Frame{Live: lines("1", "2", "3", "4", "5", "6"), Cursor: paint.Position{Row: -1}})
	if got := strings.Join(s.Lines(), " "); got != "4 5 6 " {
		t.Errorf("shows %q", got)
	}
	if _, _, visible := s.Cursor(); visible {
		t.Error("the cursor is visible")
	}
	s.Paint(paint.Frame{Finished: lines("a"), Live: lines("4", "5"), Cursor: paint.Position{Row: 1, Column: 1}})
	if got := s.Text(); got != "a\n4\n5\n" {
		t.Errorf("shows %q", got)
	}
}

// In a terminal that cuts lines instead of wrapping them, narrowing leaves nothing behind.
func TestKeepsRows(t *testing.T) {
	s := newTerminal(30, 8)
	s.KeepsRows = true
	frame := func(finished ...string) {
		s.Paint(paint.Frame{Finished: lines(finished...), Live: lines(strings.Repeat("-", s.columns), "> x", "status"), Cursor: paint.Position{Row: 1, Column: 3}})
	}
	frame("one", "two")
	for _, columns := range []int{12, 30, 11, 25} {
		s.resize(columns, 8)
		frame()
		if want := "one\ntwo\n" + strings.Repeat("-", columns) + "\n> x\nstatus\n"; s.Text() != want {
			t.Fatalf("at %d columns: %q", columns, s.Text())
		}
	}
}

// A family that was typed in tmux stayed on the screen in parts: characters arrive one by one, and their width isn't known. The
// row is drawn as a whole then, and the cursor is placed from its start.
func TestJoinedCharacters(t *testing.T) {
	var out strings.Builder
	p := paint.New(&out, paint.Options{Size: func() (int, int) { return 40, 10 }})
	typed := "> x "
	for i, r := range []rune("👩\u200d👩\u200d👧y") {
		typed += string(r)
		out.Reset()
		l := cell.Text(typed)
		if err := p.Paint(paint.Frame{Live: []cell.Line{l}, Cursor: paint.Position{Column: l.Width()}}); err != nil {
			t.Fatal(err)
		}
		if want := "\x1b[K" + strings.TrimSuffix(typed, "\u200d") + fmt.Sprintf("\r\x1b[%dG", l.Width()+1); i > 0 && !strings.Contains(out.String(), want) {
			t.Errorf("%q: %q, want %q in it", typed, out.String(), want)
		}
	}
}
