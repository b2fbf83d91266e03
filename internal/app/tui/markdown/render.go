// Package markdown shows Markdown in a terminal: a whole text, or one that streams in.
//
//	lines := markdown.Render(text, 80)
//
//	var s markdown.Stream
//	finished, live := s.Add(piece, 80)
//
// Prose is wrapped between words. Code is not: the terminal wraps it, so that it can be copied.
package markdown

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Render returns the lines of a text.
func Render(src string, width int) []cell.Line {
	r := newRenderer(limitMarkers(src), width)
	return r.blocks(r.parse(newParser()))
}

func newParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList,
		extension.Linkify)).Parser()
}

// renderer turns a parsed text into lines.
type renderer struct {
	src   []byte
	width int
}

func newRenderer(src string, width int) *renderer {
	return &renderer{src: []byte(src), width: max(width, 10)}
}

// parse parses the text. Reference links stay as they are written, and their definitions are blocks: a definition often
// comes when the text that refers to it has scrolled away.
func (r *renderer) parse(p parser.Parser) ast.Node {
	return p.Parse(text.NewReader(r.src), parser.WithContext(unresolved{parser.NewContext()}))
}

// unresolved is a context without definitions of references.
type unresolved struct{ parser.Context }

func (unresolved) Reference(string) (parser.Reference, bool) { return nil, false }

// narrower is a renderer for what is indented.
func (r *renderer) narrower(by int) *renderer {
	return &renderer{src: r.src, width: max(r.width-by, 10)}
}

// blocks are the lines of the blocks in a node, with an empty line between them.
func (r *renderer) blocks(n ast.Node) []cell.Line {
	var out []cell.Line
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := r.block(c)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !tight(c) {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

// tight reports whether no empty line goes before a block.
func tight(n ast.Node) bool {
	_, text := n.(*ast.TextBlock)
	_, list := n.(*ast.List)
	return text || list && n.Parent().Kind() == ast.KindListItem || isReference(n) && isReference(n.PreviousSibling())
}

// isReference reports whether a block is the definition of a reference.
func isReference(n ast.Node) bool {
	_, ok := n.(*ast.LinkReferenceDefinition)
	return ok
}

func (r *renderer) block(n ast.Node) []cell.Line {
	switch n := n.(type) {
	case *ast.Heading:
		return r.wrapped(r.inline(n, cell.Bold), nil)
	case *ast.Paragraph, *ast.TextBlock:
		return r.wrapped(r.inline(n, cell.Plain), nil)
	case *ast.FencedCodeBlock:
		return r.code(n, string(n.Language(r.src)))
	case *ast.CodeBlock:
		return r.code(n, "")
	case *ast.Blockquote:
		return prefixed(r.narrower(2).blocks(n), cell.Styled("│ ", cell.Dim), cell.Styled("│ ", cell.Dim))
	case *ast.List:
		return r.list(n)
	case *ast.ThematicBreak:
		return []cell.Line{cell.Styled(strings.Repeat("─", min(r.width, 40)), cell.Dim)}
	case *ast.HTMLBlock:
		return r.code(n, "")
	case *ast.LinkReferenceDefinition:
		return r.wrapped([]cell.Line{r.reference(n)}, cell.Text("  "))
	case *east.Table:
		return r.table(n)
	}
	return r.blocks(n)
}

// wrapped breaks each line of a paragraph at the width.
func (r *renderer) wrapped(lines []cell.Line, indent cell.Line) []cell.Line {
	var out []cell.Line
	for _, l := range lines {
		out = append(out, cell.Wrap(l, r.width, indent)...)
	}
	return out
}

// code is a code block, indented by two cells.
func (r *renderer) code(n ast.Node, language string) []cell.Line {
	var source []string
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		source = append(source, cell.Clean(strings.TrimSuffix(string(seg.Value(r.src)), "\n")))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		source = append(source, cell.Clean(strings.TrimSuffix(string(html.ClosureLine.Value(r.src)), "\n")))
	}
	lines := Highlight(source, language)
	return prefixed(lines, cell.Text("  "), cell.Text("  "))
}

// list is a list of items, with its marks.
func (r *renderer) list(n *ast.List) []cell.Line {
	var out []cell.Line
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		out = append(out, r.item(n, item, number)...)
		number++
	}
	return out
}

// item is an item of a list.
func (r *renderer) item(n *ast.List, item ast.Node, number int) []cell.Line {
	mark := "• "
	if n.IsOrdered() {
		mark = fmt.Sprintf("%d. ", number)
	}
	w := cell.Width(mark)
	lines := r.narrower(w).blocks(item)
	if len(lines) == 0 {
		lines = []cell.Line{nil}
	}
	return prefixed(lines, cell.Text(mark), cell.Text(strings.Repeat(" ", w)))
}

// prefixed puts a text before the first line, and another before the others.
func prefixed(lines []cell.Line, first, rest cell.Line) []cell.Line {
	out := make([]cell.Line, len(lines))
	for i, l := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		if len(l) > 0 || strings.TrimSpace(p.String()) != "" {
			out[i] = append(append(cell.Line{}, p...), l...)
		}
	}
	return out
}
