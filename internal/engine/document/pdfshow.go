package document

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// matrix is the transformation x' = ax+cy+e, y' = bx+dy+f.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// times applies m first and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// textState is the state that operators of a content stream set.
type textState struct {
	ctm               matrix // from user space to the page
	font              *pdfFont
	size, leading     float64
	charGap, wordGap  float64
	stretch           float64 // of the width; 1 is none
	textAt, lineStart matrix
}

// textShow runs a content stream and collects its text, in order, with a space for a gap in a line and a newline where
// the position changes the line.
type textShow struct {
	tick func()
	out  strings.Builder

	state textState
	saved []textState

	started    bool
	endX, endY float64 // where the last character ended, on the page
	steps      int
}

// maxForms bounds nested forms.
const maxForms = 8

// run runs a content stream with its resources.
func (s *textShow) run(program []byte, resources pdf.Value, depth int) {
	if depth == 0 {
		s.state = textState{ctm: identity, stretch: 1, textAt: identity, lineStart: identity}
	}
	fonts := map[string]*pdfFont{}
	t := &tokens{data: program}
	var args []operand
	for {
		if s.steps++; s.steps%1024 == 0 {
			s.tick()
		}
		v := t.next()
		switch {
		case v.kind == 0:
			return
		case v.kind != 'o':
			if len(args) < 64 { // no operator has more
				args = append(args, v)
			}
			continue
		case v.str == "ID":
			t.skipInlineImage()
		case v.str == "Do" && len(args) == 1 && depth < maxForms:
			s.form(resources, args[0].str, depth)
		case v.str == "Tf" && len(args) == 2:
			name := args[0].str
			if fonts[name] == nil {
				fonts[name] = readFont(resources.Key("Font").Key(name))
			}
			s.state.font, s.state.size = fonts[name], args[1].num
		default:
			s.operator(v.str, args)
		}
		args = args[:0]
	}
}

// form runs the content stream of a form, which may have text too.
func (s *textShow) form(resources pdf.Value, name string, depth int) {
	x := resources.Key("XObject").Key(name)
	if x.Kind() != pdf.Stream || x.Key("Subtype").Name() != "Form" {
		return
	}
	state, saved := s.state, s.saved
	if m := x.Key("Matrix"); m.Len() == 6 {
		s.state.ctm = matrix{m.Index(0).Float64(), m.Index(1).Float64(), m.Index(2).Float64(), m.Index(3).Float64(),
			m.Index(4).Float64(), m.Index(5).Float64()}.times(s.state.ctm)
	}
	if own := x.Key("Resources"); own.Kind() == pdf.Dict {
		resources = own
	}
	s.run(contentOf(x), resources, depth+1)
	s.state, s.saved = state, saved
}

func (s *textShow) operator(op string, args []operand) {
	num := func(i int) float64 {
		if i < len(args) {
			return args[i].num
		}
		return 0
	}
	st := &s.state
	switch op {
	case "q":
		if len(s.saved) < 1000 {
			s.saved = append(s.saved, *st)
		}
	case "Q":
		if last := len(s.saved) - 1; last >= 0 {
			*st, s.saved = s.saved[last], s.saved[:last]
		}
	case "cm":
		st.ctm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}.times(st.ctm)
	case "BT":
		st.textAt, st.lineStart = identity, identity
	case "Tc":
		st.charGap = num(0)
	case "Tw":
		st.wordGap = num(0)
	case "Tz":
		st.stretch = num(0) / 100
	case "TL":
		st.leading = num(0)
	case "Td":
		s.move(num(0), num(1))
	case "TD":
		st.leading = -num(1)
		s.move(num(0), num(1))
	case "Tm":
		st.lineStart = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}
		st.textAt = st.lineStart
	case "T*":
		s.move(0, -st.leading)
	case "Tj":
		s.showAll(args)
	case "'":
		s.move(0, -st.leading)
		s.showAll(args)
	case "\"":
		st.wordGap, st.charGap = num(0), num(1)
		s.move(0, -st.leading)
		s.showAll(args)
	case "TJ":
		if len(args) == 1 {
			s.showAll(args[0].items)
		}
	}
}

// move starts a new line at an offset from the start of this one.
func (s *textShow) move(x, y float64) {
	s.state.lineStart = matrix{a: 1, d: 1, e: x, f: y}.times(s.state.lineStart)
	s.state.textAt = s.state.lineStart
}

// showAll shows strings and moves back by the numbers between them.
func (s *textShow) showAll(items []operand) {
	for _, item := range items {
		switch item.kind {
		case 's':
			s.show(item.str)
		case 'n':
			s.advance(-item.num / 1000 * s.state.size * s.state.stretch)
		}
	}
}

func (s *textShow) advance(x float64) {
	s.state.textAt = matrix{a: 1, d: 1, e: x}.times(s.state.textAt)
}

func (s *textShow) show(raw string) {
	st := &s.state
	if st.font == nil {
		return
	}
	for _, g := range st.font.glyphs(raw) {
		at := st.textAt.times(st.ctm)
		height := math.Abs(st.size) * math.Hypot(at.c, at.d)
		s.separate(at, height)
		s.out.WriteString(g.text)
		width := g.width/1000*st.size + st.charGap
		if g.space {
			width += st.wordGap
		}
		s.advance(width * st.stretch)
		end := st.textAt.times(st.ctm)
		s.endX, s.endY, s.started = end.e, end.f, true
	}
}

// separate writes what separates the last character from one at a position: nothing, a space, or a newline.
func (s *textShow) separate(at matrix, height float64) {
	if !s.started || height == 0 {
		return
	}
	dx, dy := at.e-s.endX, at.f-s.endY
	if l := math.Hypot(at.a, at.b); l > 0 { // along and across the writing direction
		dx, dy = (dx*at.a+dy*at.b)/l, (dy*at.a-dx*at.b)/l
	}
	switch {
	case math.Abs(dy) > 0.5*height, dx < -2*height:
		if math.Abs(dy) > 1.8*height && dy < 0 {
			s.out.WriteByte('\n') // a paragraph
		}
		s.out.WriteByte('\n')
	case dx > 0.18*height:
		s.out.WriteByte(' ')
	}
}

// text returns the collected text, without redundant spaces.
func (s *textShow) text() string {
	lines := strings.Split(strings.Map(dropControls, s.out.String()), "\n")
	var kept []string
	for _, line := range lines {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool {
			return r == ' ' || r == '\t' ||
				r == '\u00A0'
		}), " ")
		if line != "" || len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.Join(kept, "\n"), "\uFFFD"))
}

func dropControls(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < ' ' || r >= 0x7F && r < 0xA0 || r == 0xAD:
		return -1
	}
	return r
}
