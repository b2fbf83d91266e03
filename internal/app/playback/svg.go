package playback

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

// Measures of the picture, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	baseline   = 13
	margin     = 14
)

const (
	// maxFrames is the maximum number of frames of a picture: browsers keep all of them in memory.
	maxFrames = 20_000
	// maxKnown is the maximum number of rows that are stored for reuse.
	maxKnown = 20_000
	// lastFrame is how long the last frame is shown before the picture starts again.
	lastFrame = 3 * time.Second
)

// svg is an animated picture: all frames side by side, behind a window that shows one. The animation is CSS, so that it
// plays where scripts are not allowed. Without animation, the window shows the last frame.
type svg struct {
	out     *bufio.Writer
	window  window
	rows    map[string]int // number of each row that was written, by its content
	written int            // number of rows
	shown   string         // the rows of the last frame, to detect whether the next one differs
	frame   string         // the last frame, which is written when time has passed
	at      time.Duration  // since when it is shown
	starts  []time.Duration
}

func newSVG(w io.Writer, title string) *svg {
	s := &svg{out: bufio.NewWriter(w), window: window{columns: Columns, rows: Rows}, rows: map[string]int{}}
	inner, outer := pixels(Columns*cellWidth), pixels(Columns*cellWidth+2*margin)
	height := Rows*cellHeight + 2*margin
	fmt.Fprintf(s.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %d" width="%s" height="%d" xml:space="preserve">`+"\n", outer, height, outer, height)
	fmt.Fprintf(s.out, "<title>%s</title>\n<style>%s</style>\n", escape(title), look)
	fmt.Fprintf(s.out, `<rect class="w" x=".5" y=".5" width="%s" height="%d" rx="8"/>`+"\n",
		pixels(Columns*cellWidth+2*margin-1), height-1)
	fmt.Fprintf(s.out, `<svg x="%d" y="%d" width="%s" height="%d"><g class="a">`+"\n", margin, margin, inner,
		Rows*cellHeight)
	return s
}

// look is the style sheet: f is the color of text, w the window, and the others are styles.
const look = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre}
.w{fill:#fff;stroke:#d0d7de}text,.f,.k{fill:#1f2328}.k{opacity:.35}.v{fill:#fff}
.b{font-weight:700}.d{fill-opacity:.66}.i{font-style:italic}.u{text-decoration:underline}.x{text-decoration:line-through}
.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.l{fill:#0969da}.m{fill:#8250df}.c{fill:#0b7285}
@media(prefers-color-scheme:dark){
.w{fill:#0d1117;stroke:#30363d}text,.f,.k{fill:#e6edf3}.v{fill:#0d1117}
.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.l{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#56d4dd}}
`

// show adds a frame.
func (s *svg) show(at time.Duration, f paint.Frame) error {
	rows, cursor := s.window.show(f)
	var b strings.Builder
	for i, l := range rows {
		if row := drawn(l); row != "" {
			fmt.Fprintf(&b, `<use href="#r%d" y="%d"/>`, s.row(row), i*cellHeight)
		}
	}
	if cursor.Row >= 0 && cursor.Row < len(rows) {
		fmt.Fprintf(&b, `<rect class="k" x="%s" y="%d" width="%s" height="%d"/>`,
			pixels(float64(cursor.Column)*cellWidth), cursor.Row*cellHeight, pixels(cellWidth), cellHeight)
	}
	if b.String() == s.shown && s.shown != "" {
		return nil
	}
	if at > s.at || s.frame == "" {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.shown, s.frame, s.at = b.String(), b.String(), at
	return nil
}

// row returns the number of a row. It writes the row if it is new.
func (s *svg) row(content string) int {
	if n, ok := s.rows[content]; ok {
		return n
	}
	if len(s.rows) >= maxKnown {
		clear(s.rows)
	}
	s.written++
	s.rows[content] = s.written
	fmt.Fprintf(s.out, `<defs><g id="r%d">%s</g></defs>`+"\n", s.written, content)
	return s.written
}

// flush writes the last frame.
func (s *svg) flush() error {
	if s.frame == "" {
		return nil
	}
	if len(s.starts) == maxFrames {
		return fmt.Errorf("the replay is too long for an SVG: more than %d frames\nUse --cast, or a higher --speed.",
			maxFrames)
	}
	_, err := fmt.Fprintf(s.out, `<g transform="translate(%s)">%s</g>`+"\n", pixels(s.left(len(s.starts))), s.frame)
	s.starts = append(s.starts, s.at)
	s.frame = ""
	return err
}

// left returns the horizontal position of a frame.
func (s *svg) left(frame int) float64 { return float64(frame) * Columns * cellWidth }

// close writes the end of the file: the times at which the window moves.
func (s *svg) close(at time.Duration) error {
	if err := s.flush(); err != nil {
		return err
	}
	n := len(s.starts)
	total := max(at, s.at) + lastFrame
	fmt.Fprintf(s.out, "</g></svg>\n<style>.a{transform:translate(-%spx);animation:p %.3fs steps(1,end) infinite}\n",
		pixels(s.left(max(0, n-1))), total.Seconds())
	fmt.Fprint(s.out, "@media(prefers-reduced-motion:reduce){.a{animation:none}}\n@keyframes p{")
	for i, t := range s.starts {
		fmt.Fprintf(s.out, "%.4f%%{transform:translate(-%spx)}\n", 100*t.Seconds()/total.Seconds(), pixels(s.left(i)))
	}
	fmt.Fprintf(s.out, "100%%{transform:translate(-%spx)}}</style>\n</svg>\n", pixels(s.left(max(0, n-1))))
	return s.out.Flush()
}

// drawn returns a row as elements. Each piece of text has a position and a length, so that cells are aligned as in a
// terminal with any font.
func drawn(l cell.Line) string {
	var b strings.Builder
	column := 0
	for _, s := range l {
		for _, p := range pieces(s.Text) {
			draw(&b, p, s.Style, column)
			column += p.width
		}
	}
	return b.String()
}

// piece is text whose characters have the same width, and one font.
type piece struct {
	text  string
	width int // in cells
	kind  kind
}

// kind is a kind of characters.
type kind uint8

const (
	ascii  kind = iota
	letter      // of other alphabets
	symbol      // probably from another font
	wide
)

// pieces splits a text.
func pieces(text string) []piece {
	var out []piece
	g := displaywidth.StringGraphemes(text)
	for g.Next() {
		v, w := g.Value(), g.Width()
		k := kindOf(v, w)
		last := len(out) - 1
		if w == 0 && last >= 0 { // a combining mark
			out[last].text += v
			continue
		}
		if last >= 0 && out[last].kind == k && (k != symbol || strings.HasSuffix(out[last].text, v)) {
			out[last].text += v
			out[last].width += w
			continue
		}
		out = append(out, piece{v, w, k})
	}
	return out
}

func kindOf(v string, width int) kind {
	r, _ := utf8.DecodeRuneInString(v)
	switch {
	case width > 1:
		return wide
	case len(v) == 1:
		return ascii
	case unicode.IsLetter(r):
		return letter
	}
	return symbol
}

// draw writes a piece as an element.
func draw(b *strings.Builder, p piece, style cell.Style, column int) {
	if style&cell.Reverse != 0 && p.width > 0 {
		fmt.Fprintf(b, `<rect class="f" x="%s" width="%s" height="%d"/>`, pixels(float64(column)*cellWidth),
			pixels(float64(p.width)*cellWidth), cellHeight)
	}
	text := p.text
	if style&(cell.Underline|cell.Strike) == 0 {
		text = strings.TrimLeft(text, " ")
		column += len(p.text) - len(text)
		text = strings.TrimRight(text, " ")
	}
	width := p.width - (len(p.text) - len(text))
	if text == "" || width <= 0 {
		return
	}
	fmt.Fprintf(b, `<text x="%s" y="%d"`, pixels(float64(column)*cellWidth), baseline)
	if c := classes(style); c != "" {
		fmt.Fprintf(b, ` class="%s"`, c)
	}
	fmt.Fprintf(b, ` textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`, pixels(float64(width)*cellWidth),
		escape(text))
}

// classes returns the classes of a style.
func classes(s cell.Style) string {
	var out []string
	for _, a := range []struct {
		style cell.Style
		class string
	}{{cell.Bold, "b"}, {cell.Dim, "d"}, {cell.Italic, "i"}, {cell.Underline, "u"}, {cell.Strike, "x"},
		{cell.Reverse, "v"}} {
		if s&a.style != 0 {
			out = append(out, a.class)
		}
	}
	switch s &^ (cell.Bold | cell.Dim | cell.Italic | cell.Underline | cell.Strike | cell.Reverse) {
	case cell.Red:
		out = append(out, "r")
	case cell.Green, cell.GreenText:
		out = append(out, "g")
	case cell.Yellow:
		out = append(out, "y")
	case cell.Blue:
		out = append(out, "l")
	case cell.Magenta:
		out = append(out, "m")
	case cell.Cyan:
		out = append(out, "c")
	}
	return strings.Join(out, " ")
}

var markup = strings.NewReplacer(`"`, "&#34;", "'", "&#39;", "&", "&amp;", "<", "&lt;", ">", "&gt;",
	"\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")

// escape escapes text for XML. Characters that are invalid in XML are replaced. The program doesn't have encoding/xml,
// which makes tables at every start.
func escape(text string) string {
	return markup.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, text))
}

// pixels returns a length without trailing zeros.
func pixels(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", f), "0"), ".")
}
