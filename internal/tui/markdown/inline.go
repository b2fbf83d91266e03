package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/adze-dev/adze/internal/tui/cell"
)

// inline is the text of a block with its styles, a line for each hard break.
func (r *renderer) inline(n ast.Node, style cell.Style) []cell.Line {
	w := inlineWriter{src: r.src, lines: []cell.Line{nil}}
	w.children(n, style, "")
	return w.lines
}

type inlineWriter struct {
	src   []byte
	lines []cell.Line
}

func (w *inlineWriter) add(text string, style cell.Style, link string) {
	if text = cell.Clean(text); text == "" {
		return
	}
	last := &w.lines[len(w.lines)-1]
	if n := len(*last) - 1; n >= 0 && (*last)[n].Style == style && (*last)[n].Link == link {
		(*last)[n].Text += text
		return
	}
	*last = append(*last, cell.Span{Text: text, Style: style, Link: link})
}

func (w *inlineWriter) children(n ast.Node, style cell.Style, link string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, style, link)
	}
}

func (w *inlineWriter) node(n ast.Node, style cell.Style, link string) {
	switch n := n.(type) {
	case *ast.Text:
		w.add(unescape(string(n.Segment.Value(w.src))), style, link)
		switch {
		case n.HardLineBreak():
			w.lines = append(w.lines, nil)
		case n.SoftLineBreak():
			w.add(" ", style, link)
		}
	case *ast.String:
		w.add(string(n.Value), style, link)
	case *ast.CodeSpan:
		w.add(strings.ReplaceAll(plain(n, w.src), "\n", " "), style.With(cell.Cyan), link)
	case *ast.Emphasis:
		if n.Level > 1 {
			style = style.With(cell.Bold)
		} else {
			style = style.With(cell.Italic)
		}
		w.children(n, style, link)
	case *east.Strikethrough:
		w.children(n, style.With(cell.Strike), link)
	case *ast.Link:
		w.link(n, string(n.Destination), style)
	case *ast.AutoLink:
		url := string(n.URL(w.src))
		w.add(string(n.Label(w.src)), style.With(cell.Underline), target(url))
	case *ast.Image:
		w.add("[image: "+plain(n, w.src)+"]", style.With(cell.Dim), target(string(n.Destination)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			w.add(string(seg.Value(w.src)), style, link)
		}
	case *east.TaskCheckBox:
		if n.IsChecked {
			w.add("[x] ", style, link)
		} else {
			w.add("[ ] ", style, link)
		}
	default:
		w.children(n, style, link)
	}
}

// link shows a link's text, and its address too unless the text is that: not every terminal opens links, and a text may
// name another address than it opens.
func (w *inlineWriter) link(n *ast.Link, url string, style cell.Style) {
	w.children(n, style.With(cell.Underline), target(url))
	if text := plain(n, w.src); text != url && "https://"+text != url && !strings.HasPrefix(url, "#") {
		w.add(" ("+url+")", style.With(cell.Dim), "")
	}
}

// target is the address that a link opens: only those of the web and of mail.
func target(url string) string {
	lower := strings.ToLower(url)
	for _, scheme := range [...]string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(lower, scheme) {
			return url
		}
	}
	return ""
}

// plain is the text of a node without styles.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape removes the backslashes before punctuation, and resolves references such as &amp; and &#39;.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0:
			i++
		case s[i] == '&':
			if n := strings.IndexByte(s[i:min(len(s), i+maxReference)], ';'); n > 0 {
				b.Write(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(s[i : i+n+1]))))
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// maxReference is the length of the longest reference to a character: &CounterClockwiseContourIntegral;
const maxReference = 33
