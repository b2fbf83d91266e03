package console

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/app/tui/cell"
)

const (
	// drawEvery is how often the live area may change.
	drawEvery = 100 * time.Millisecond
	// silence is how long an answer pauses before the live area shows that it is still worked on.
	silence = time.Second
)

// Streams are the standard streams of this run.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // stdin and stderr are a terminal: the user can answer prompts
}

// Editor is the user's editor.
func (s Streams) Editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if e := s.Getenv(name); e != "" {
			return e
		}
	}
	return "vi"
}

// Screen owns what a prompt shows beside its answer: lines that stay, on stderr, and below them, if that is a terminal,
// a live area that is redrawn in place. While a question is open it holds everything else back.
type Screen struct {
	w    io.Writer                  // stderr
	size func() (columns, rows int) // of its terminal, 0 while another program has it; nil: there is no live area
	keys *os.File                   // stdin, if it is a terminal
	echo func(on bool)              // switches whether keys shows what is typed, once the live area is there
	ink  bool                       // colors
	now  func() time.Time
	out  io.Writer // stdout, if it is a terminal: the answer streams there

	mu    sync.Mutex
	live  live
	drawn []cell.Line // as it is on the terminal; the cursor is at its end, or above it if column is not 0
	asks  bool        // a question is open
	held  []func()    // what to do after it
	err   error       // the first of writing to out

	column int       // cells in the line of the answer that is begun; 0: none is
	spoke  time.Time // when the answer last went on
}

// NewScreen is the screen of this run. Without a terminal it only passes lines on.
func NewScreen(env Streams) *Screen {
	s := &Screen{w: env.Stderr, now: time.Now, echo: func(bool) {}}
	kind := env.Getenv("TERM")
	if f, ok := File(env.Stdout); ok {
		s.out = f
	}
	if f, ok := File(env.Stdin); ok {
		s.keys = f
	}
	if f, ok := File(env.Stderr); ok && tty.CanRedraw(f, kind) {
		s.ink = env.Getenv("NO_COLOR") == ""
		s.size = func() (int, int) { return sizeOf(f) }
	}
	return s
}

func sizeOf(f *os.File) (columns, rows int) {
	if tty.InBackground(f) {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// File is the terminal behind a stream, if there is one.
func File(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && tty.IsTerminal(f)
}

// Start redraws the live area from now on. stop ends that and clears it.
func (s *Screen) Start() (stop func()) {
	if s.size == nil {
		return s.finish
	}
	if s.keys != nil {
		if f := tty.Echo(s.keys); f != nil {
			s.echo = f
		}
	}
	s.echo(false)
	tick := time.NewTicker(drawEvery)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				s.draw()
			case <-done:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(done)
		<-ended
		s.finish()
		s.echo(true)
	}
}

// finish clears the live area and ends the line that is begun.
func (s *Screen) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = live{}
	s.print("")
}

// change changes what is going on. It is drawn soon.
func (s *Screen) change(f func(l *live, now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.live, s.now())
}

// draw brings the live area up to date.
func (s *Screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.current()
	if slices.EqualFunc(lines, s.drawn, slices.Equal[cell.Line]) {
		return
	}
	text := s.erase() + s.paint(lines)
	if s.column == 0 && len(lines) > 0 { // overwrite it, rather than erase it first: nothing flickers
		text = s.top() + strings.ReplaceAll(s.paint(lines), "\n", "\x1b[K\n") + "\x1b[J"
	}
	s.drawn = lines
	s.write(text)
}

// current is what the live area should be.
func (s *Screen) current() []cell.Line {
	if s.size == nil || s.asks {
		return nil
	}
	columns, rows := s.size()
	if columns == 0 {
		return nil
	}
	// at the edge the cursor can't come back
	if s.column > 0 && (s.now().Sub(s.spoke) < silence || s.column%columns == 0) {
		return nil
	}
	return s.live.lines(s.now(), columns, rows)
}

// paint writes the live area below the cursor, or at it if no line is begun.
func (s *Screen) paint(lines []cell.Line) string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, s.text(l))
	}
	text := strings.Join(texts, "\n")
	if n := len(lines); s.column > 0 && n > 0 {
		// Make room, which may scroll, without losing the column; then come back to it.
		return strings.Repeat("\x1bD", n) + fmt.Sprintf("\x1b[%dA", n) + "\x1b7\n" + text + "\x1b8"
	}
	return text
}

// text is a line as the terminal gets it.
func (s *Screen) text(l cell.Line) string {
	colors := cell.None
	if s.ink {
		colors = cell.Full
	}
	return string(l.Append(nil, colors))
}

// width is the width of lines that stay.
func (s *Screen) width() int {
	columns := 0
	if s.size != nil {
		columns, _ = s.size()
	}
	return textWidth(cmp.Or(columns, 80))
}

// erase clears the live area and leaves the cursor where it began, or in the line that is begun.
func (s *Screen) erase() string {
	switch {
	case len(s.drawn) == 0:
		return ""
	case s.column > 0:
		return "\x1b[J"
	}
	return s.top() + "\x1b[J"
}

// top moves the cursor to the first cell of the live area.
func (s *Screen) top() string {
	if len(s.drawn) == 0 {
		return ""
	}
	columns, _ := s.size()
	rows := 0
	for _, l := range s.drawn {
		rows++
		if columns > 0 { // a terminal that became narrower has wrapped it
			rows += max(0, l.Width()-1) / columns
		}
	}
	if rows == 1 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows-1)
}

// print writes whole lines above the live area, and draws that below them again, in one go.
func (s *Screen) print(text string) {
	s.breakLine()
	text = s.erase() + text
	s.drawn = s.current()
	if text += s.paint(s.drawn); text != "" {
		s.write(text)
	}
}

// breakLine ends a line of the answer that is begun, where it is in the way.
func (s *Screen) breakLine() {
	if s.column == 0 {
		return
	}
	if len(s.drawn) > 0 {
		s.write(s.erase())
		s.drawn = nil
	}
	s.column = 0
	s.say("\n")
}

// write writes to stderr; there is no place to report an error.
func (s *Screen) write(text string) { _, _ = io.WriteString(s.w, text) }

func (s *Screen) say(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.err == nil {
		s.err = err
	}
}

// Tell writes a line that stays, now or after the question.
func (s *Screen) Tell(line string) { _, _ = s.Write([]byte(line + "\n")) }

// Write writes whole lines that stay, now or after the question.
func (s *Screen) Write(p []byte) (int, error) {
	text := string(p)
	s.do(func() { s.print(text) })
	return len(p), nil
}

// speak streams a piece of the answer to the terminal.
func (s *Screen) speak(text string) {
	if text == "" {
		return
	}
	s.do(func() {
		if len(s.drawn) > 0 {
			s.write(s.erase())
			s.drawn = nil
		}
		s.say(text)
		s.spoke = s.now()
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			s.column, text = 0, text[i+1:]
		}
		s.column += cells(text)
	})
}

// endLine ends the line of the answer that is begun.
func (s *Screen) endLine() { s.do(s.breakLine) }

// do does something now or after the question.
func (s *Screen) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks {
		s.held = append(s.held, f)
		return
	}
	f()
}

// ask opens a question: what is written to the returned writer belongs to it. After answered, others may write again.
func (s *Screen) ask() (question io.Writer, answered func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = true
	s.print("")
	s.echo(true)
	return s.w, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asks = false
		s.echo(false)
		for _, f := range s.held {
			f()
		}
		s.held = nil
	}
}
