package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"

	"github.com/adze-dev/adze/internal/tui/cell"
)

// Stream shows a text while it arrives. Blocks that can't change anymore are finished; the last one is live. The zero value
// is ready to use.
type Stream struct {
	src     string      // from the first block that is not finished
	shown   []cell.Line // lines of the block that were finished already: code is finished line by line
	started bool        // something was finished before
	parser  parser.Parser
}

// Add adds a piece of the text. It returns the lines that are finished now and the lines that are still live.
func (s *Stream) Add(piece string, width int) (finished, live []cell.Line) {
	s.src += piece
	if s.parser == nil {
		s.parser = newParser()
	}
	r := newRenderer(s.src, width)
	doc := r.parse(s.parser)
	last := doc.LastChild()
	if last == nil {
		return nil, nil
	}
	if start, ok := begins(last, s.src); ok && last != doc.FirstChild() && start > 0 {
		for c := doc.FirstChild(); c != last; c = c.NextSibling() {
			finished = append(finished, s.finish(r.block(c))...)
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
		if len(s.shown) == 0 && s.started {
			finished = append(finished, nil)
		}
		s.started = true
		finished = append(finished, more...)
		s.shown = lines[:done]
	}
	live = lines[min(len(s.shown), len(lines)):]
	if len(s.shown) == 0 && s.started && len(live) > 0 {
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
	out := s.finish(r.blocks(r.parse(s.parser)))
	*s = Stream{}
	return out
}

// finish returns the lines of a block that were not returned before, after an empty line if there was a block before it.
func (s *Stream) finish(lines []cell.Line) []cell.Line {
	more := lines[min(len(s.shown), len(lines)):]
	var out []cell.Line
	if len(s.shown) == 0 && s.started && len(more) > 0 {
		out = append(out, nil)
	}
	s.shown = nil
	s.started = s.started || len(more) > 0
	return append(out, more...)
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
