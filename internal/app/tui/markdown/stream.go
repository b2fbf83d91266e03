package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Stream shows a text while it arrives. Blocks that can't change anymore are finished; the last one is live. The zero
// value is ready to use.
type Stream struct {
	src     string      // from the first block that is not finished
	shown   []cell.Line // lines of the block that were finished already: code is finished line by line
	started bool        // something was finished before
	defined bool        // it was the definition of a reference
	joined  bool        // the text continues a block that was cut, so no empty line goes before it
	parser  parser.Parser
}

// maxLive is the number of bytes of a block that is kept live. Each frame parses it again, so a longer one is finished
// in parts: at the end of a line, or, without one, at a space.
const maxLive = 8 << 10

// Add adds a piece of the text. It returns the lines that are finished now and the lines that are still live.
func (s *Stream) Add(piece string, width int) (finished, live []cell.Line) {
	s.src = limitMarkers(s.src + piece)
	if s.parser == nil {
		s.parser = newParser()
	}
	for len(s.src) > maxLive {
		finished = append(finished, s.cut(width)...)
	}
	more, live := s.show(width)
	return append(finished, more...), live
}

// show parses what is not finished.
func (s *Stream) show(width int) (finished, live []cell.Line) {
	r := newRenderer(s.src, width)
	doc := r.parse(s.parser)
	last := doc.LastChild()
	if last == nil {
		return nil, nil
	}
	if start, ok := begins(last, s.src); ok && last != doc.FirstChild() && start > 0 {
		for c := doc.FirstChild(); c != last; c = c.NextSibling() {
			finished = append(finished, s.finish(r.block(c), c, c)...)
		}
		s.src = s.src[start:]
		r = newRenderer(s.src, width)
		doc = r.parse(s.parser)
		if last = doc.LastChild(); last == nil {
			return finished, nil
		}
	}
	lines := r.blocks(doc)
	done := 0
	if last == doc.FirstChild() {
		done = r.settled(last, len(lines))
	}
	if done > len(s.shown) {
		more := lines[len(s.shown):done]
		if s.apart(doc.FirstChild()) {
			finished = append(finished, nil)
		}
		s.started = true
		finished = append(finished, more...)
		s.shown = lines[:done]
	}
	live = lines[min(len(s.shown), len(lines)):]
	if s.apart(doc.FirstChild()) && len(live) > 0 {
		live = append([]cell.Line{nil}, live...)
	}
	return finished, live
}

// End finishes what is live.
func (s *Stream) End(width int) []cell.Line {
	if s.parser == nil {
		return nil
	}
	r := newRenderer(s.src, width)
	doc := r.parse(s.parser)
	out := s.finish(r.blocks(doc), doc.FirstChild(), doc.LastChild())
	*s = Stream{}
	return out
}

// apart reports whether an empty line goes before a block: not if a part of it was finished already, and not between
// definitions of references.
func (s *Stream) apart(n ast.Node) bool {
	return len(s.shown) == 0 && s.started && !s.joined && !(s.defined && isReference(n))
}

// finish returns the lines of blocks that were not returned before, after an empty line if there was a block before
// them.
func (s *Stream) finish(lines []cell.Line, first, last ast.Node) []cell.Line {
	more := lines[min(len(s.shown), len(lines)):]
	var out []cell.Line
	if s.apart(first) && len(more) > 0 {
		out = append(out, nil)
	}
	s.defined = isReference(last)
	s.joined = s.joined && len(more) == 0
	s.shown = nil
	s.started = s.started || len(more) > 0
	return append(out, more...)
}

// cut finishes blocks in the first maxLive bytes of the text, or the part of a block that is longer.
func (s *Stream) cut(width int) []cell.Line {
	head := s.src[:maxLive]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i+1]
	} else if i := strings.LastIndexByte(head, ' '); i > maxLive-1000 {
		head = head[:i+1]
	} else {
		for len(head) > maxLive-utf8.UTFMax && !utf8.RuneStart(s.src[len(head)]) {
			head = head[:len(head)-1]
		}
	}
	r := newRenderer(head, width)
	doc := r.parse(s.parser)
	last := doc.LastChild()
	if last == nil { // nothing but spaces
		s.src = s.src[len(head):]
		return nil
	}
	var out []cell.Line
	if last != doc.FirstChild() {
		if start, ok := begins(last, head); ok && start > 0 {
			for c := doc.FirstChild(); c != last; c = c.NextSibling() {
				out = append(out, s.finish(r.block(c), c, c)...)
			}
			s.src = s.src[start:]
			return out
		}
	}
	if list, ok := last.(*ast.List); ok && list.ChildCount() > 1 {
		if start, ok := begins(list.LastChild(), head); ok && start > 0 { // all items but the last
			lines := r.blocks(doc)
			out = s.finish(lines[:r.settled(list, len(lines))], doc.FirstChild(), last)
			s.src, s.joined = s.src[start:], true
			return out
		}
	}
	out = s.finish(r.blocks(doc), doc.FirstChild(), last)
	again := opening(last, head)
	s.src = again + s.src[len(head):]
	_, table := last.(*east.Table)
	s.joined = !table && !closed(last, head)
	return out
}

// maxNesting is how deep quotes and lists can be nested in one line.
const maxNesting = 20

// limitMarkers escapes the marker in a line that follows too many others. The parser's time grows with the square of
// their number.
func limitMarkers(src string) string {
	for at := 0; at < len(src); {
		end := strings.IndexByte(src[at:], '\n')
		if end < 0 {
			end = len(src)
		} else {
			end += at
		}
		n := 0
		for i := at; i < end; {
			m := marker(src[i:end])
			if m == 0 {
				break
			}
			if n++; n > maxNesting {
				i += strings.IndexFunc(src[i:end], func(r rune) bool { return strings.ContainsRune(">-*+.)", r) })
				src = src[:i] + "\\" + src[i:]
				end++
				break
			}
			i += m
		}
		at = end + 1
	}
	return src
}

// marker is the length of the marker of a quote or list that a text starts with, with the spaces before and after it.
func marker(s string) int {
	i := len(s) - len(strings.TrimLeft(s, " \t"))
	digits := i
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	switch {
	case i == len(s):
		return 0
	case s[i] == '>':
		return i + 1
	case digits > i && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		i = digits
	case strings.IndexByte("-*+", s[i]) < 0:
		return 0
	}
	if i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\t' {
		return 0
	}
	return i + 1
}

// closed reports whether a block of code has ended.
func closed(n ast.Node, head string) bool {
	code, ok := n.(*ast.FencedCodeBlock)
	return ok && code.Lines().Len() > 0 && code.Lines().At(code.Lines().Len()-1).Stop < len(head)
}

// opening is what the rest of a block that was cut must start with: the fence of code, the first rows of a table.
func opening(n ast.Node, head string) string {
	start, ok := begins(n, head)
	if !ok || closed(n, head) {
		return ""
	}
	lines := strings.SplitAfterN(head[start:], "\n", 3)
	switch n.(type) {
	case *ast.FencedCodeBlock:
		return lines[0]
	case *east.Table:
		if len(lines) == 3 {
			return lines[0] + lines[1]
		}
	}
	return ""
}

// settled is the number of lines that can't change, of a text that is one block: those of code except the last one, and
// those of a list except its last item.
func (r *renderer) settled(block ast.Node, lines int) int {
	switch n := block.(type) {
	case *ast.FencedCodeBlock:
		if r.src[len(r.src)-1] == '\n' {
			return lines
		}
		return max(0, lines-1) // it may be the start of the fence that ends the code
	case *ast.List:
		return lines - len(r.item(n, n.LastChild(), n.Start+n.ChildCount()-1))
	}
	return 0
}

// begins is the byte at which the line of a block starts.
func begins(n ast.Node, src string) (int, bool) {
	var at int
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		if n.Info == nil && n.Lines().Len() == 0 {
			return 0, false
		}
		if n.Info != nil {
			at = n.Info.Segment.Start
		} else {
			at = n.Lines().At(0).Start - 1 // the end of the line with the fence
		}
	default:
		for n != nil && (n.Type() != ast.TypeBlock || n.Lines() == nil || n.Lines().Len() == 0) {
			n = n.FirstChild()
		}
		if n == nil {
			return 0, false
		}
		at = n.Lines().At(0).Start
	}
	return strings.LastIndexByte(src[:at], '\n') + 1, true
}
