// Package screentest is a terminal for tests: cells, wide characters, scrollback, and what happens to them when the
// terminal is resized. It is compared with real terminals in make test-peers.
package screentest

import (
	"slices"
	"strings"
	"sync"

	"github.com/clipperhouse/displaywidth"
)

// Screen is a terminal. Its methods can be called concurrently.
type Screen struct {
	// KeepsErased is set before the first use for a terminal that wraps cells which were erased from the middle of a
	// row, as tmux does.
	KeepsErased bool

	mu      sync.Mutex
	columns int
	height  int
	rows    []row // the visible ones
	above   []row // scrolled away
	x, y    int
	pending bool // the next character wraps
	saved   [2]int
	style   string
	modes   map[int]bool
	kept    map[int]bool // modes, saved by CSI ? … s
	title   string
	titles  []string // saved

	background string // in X11's notation; "": it is not told
	bells      int
	sent       []string // OSC strings other than titles and links
	erased     int      // times the whole screen or scrollback was erased
	noted      []string // sequences that change more than text, each once
	other      *Screen  // the normal screen while the alternate one is shown
	parser     parser
	reply      func(string)
}

// row is a line of cells. A wide character takes two: the second one is empty.
type row struct {
	cells   []cell
	wrapped bool // the text continues in the next row
}

type cell struct {
	text  string // "" is blank, or the second cell of a wide character
	style string
	wide  bool
	half  bool // the second cell of a wide character
}

// New makes a terminal. The bytes with which it answers requests go to reply, which may be nil.
func New(columns, rows int, reply func(string)) *Screen {
	s := &Screen{
		columns: columns, height: rows, reply: reply, background: "rgb:0000/0000/0000",
		modes: map[int]bool{7: true, 25: true}, kept: map[int]bool{},
	}
	s.rows = make([]row, rows)
	return s
}

// SetBackground sets the color that the terminal tells a program: "rgb:ffff/ffff/ffff", or "" for a terminal that tells
// none.
func (s *Screen) SetBackground(color string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.background = color
}

// Lines are the visible rows, without spaces at their ends.
func (s *Screen) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return texts(s.rows)
}

// Scrollback is what scrolled away, oldest first, by rows.
func (s *Screen) Scrollback() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return texts(s.above)
}

// Text is all that was printed: the scrollback and the screen, up to the last row that isn't empty. Rows that the
// terminal wrapped are joined.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, r := range append(append([]row{}, s.above...), s.rows...) {
		b.WriteString(r.text(r.wrapped))
		if !r.wrapped {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Cursor is the cursor's cell, and whether it is visible.
func (s *Screen) Cursor() (row, column int, visible bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.y, s.x, s.modes[25]
}

// Mode reports whether a private mode is set.
func (s *Screen) Mode(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modes[n]
}

// Style is the SGR parameters of a visible cell.
func (s *Screen) Style(row, column int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.rows[row].cells; column < len(c) {
		return c[column].style
	}
	return ""
}

// State is what a program has done to the terminal apart from printing.
type State struct {
	Title  string
	Bells  int
	Sent   []string // OSC strings, such as those that set the clipboard
	Erased int      // times the screen or the scrollback was erased
	// Commands are the sequences that change more than text and its style, each once: modes, titles, strings for the
	// terminal, C1 controls and characters that reorder text.
	Commands []string
}

// State returns what was done to the terminal.
func (s *Screen) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.title, s.bells, append([]string{}, s.sent...), s.erased, append([]string{}, s.noted...)}
}

// note remembers a sequence that changes more than text.
func (s *Screen) note(sequence string) {
	if !slices.Contains(s.noted, sequence) {
		s.noted = append(s.noted, sequence)
	}
}

func texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text(false)
	}
	return out
}

// text is the row's characters; whole keeps the spaces at the end.
func (r row) text(whole bool) string {
	var b strings.Builder
	for _, c := range r.cells {
		switch {
		case c.half:
		case c.text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.text)
		}
	}
	if whole {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

// put prints a character.
func (s *Screen) put(text string) {
	w := displaywidth.String(text)
	if w == 0 {
		s.combine(text)
		return
	}
	if s.pending && s.modes[7] {
		s.rows[s.y].wrapped = true
		s.x = 0
		s.lineFeed()
	}
	s.pending = false
	if s.x+w > s.columns {
		if s.modes[7] {
			s.rows[s.y].wrapped = true
			s.x = 0
			s.lineFeed()
		} else if w > 1 {
			return // half of it would not be visible
		} else {
			s.x = s.columns - w
		}
	}
	s.set(s.x, cell{text: text, style: s.style, wide: w == 2})
	if w == 2 {
		s.set(s.x+1, cell{half: true, style: s.style})
	}
	if s.x += w; s.x >= s.columns {
		s.x = s.columns - 1
		s.pending = true
	}
}

// combine adds a mark to the character before the cursor.
func (s *Screen) combine(text string) {
	x := s.x - 1
	if s.pending {
		x = s.x
	}
	cells := s.rows[s.y].cells
	for x > 0 && x < len(cells) && cells[x].half {
		x--
	}
	if x >= 0 && x < len(cells) {
		cells[x].text += text
	}
}

// set changes a cell, and blanks the other half of a wide character that it was part of.
func (s *Screen) set(x int, c cell) {
	r := &s.rows[s.y]
	for len(r.cells) <= x {
		r.cells = append(r.cells, cell{})
	}
	if r.cells[x].half && !c.half && x > 0 {
		r.cells[x-1] = cell{}
	}
	if r.cells[x].wide && x+1 < len(r.cells) {
		r.cells[x+1] = cell{}
	}
	r.cells[x] = c
}

func (s *Screen) lineFeed() {
	s.pending = false
	if s.y < s.height-1 {
		s.y++
		return
	}
	if s.other == nil {
		s.above = append(s.above, s.rows[0])
	}
	s.rows = append(s.rows[1:], row{})
}

// erase blanks cells of a row.
func (s *Screen) erase(y, from, to int) {
	r := &s.rows[y]
	if from > 0 && from < len(r.cells) && r.cells[from].half { // a wide character is erased as a whole
		from--
	}
	if to < len(r.cells) && r.cells[to].half {
		to++
	}
	blank := cell{}
	if s.KeepsErased && from > 0 {
		blank.text = " "
	}
	for x := from; x < to && x < len(r.cells); x++ {
		r.cells[x] = blank
	}
	if blank.text != "" {
		return
	}
	if from == 0 && y > 0 { // as in xterm.js and tmux, the row before ends there
		s.rows[y-1].wrapped = false
	} else if from == 0 && len(s.above) > 0 {
		s.above[len(s.above)-1].wrapped = false
	}
	if to >= len(r.cells) {
		r.cells = r.cells[:min(from, len(r.cells))]
		r.wrapped = false
	}
}
