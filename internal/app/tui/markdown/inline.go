package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
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
		w.link(n, style)
	case *ast.AutoLink:
		url := string(n.URL(w.src))
		w.add(string(n.Label(w.src)), style.With(cell.Underline), target(url))
	case *ast.Image:
		url := unescape(string(n.Destination))
		w.add("[image: "+plain(n, w.src)+address(url, string(n.Title))+"]", style.With(cell.Dim), target(url))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			w.add(strings.ReplaceAll(string(seg.Value(w.src)), "\n", " "), style, link)
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
func (w *inlineWriter) link(n *ast.Link, style cell.Style) {
	url, title := unescape(string(n.Destination)), string(n.Title)
	w.children(n, style.With(cell.Underline), target(url))
	if text := plain(n, w.src); title != "" || text != url && "https://"+text != url {
		w.add(address(url, title), style.With(cell.Dim), "")
	}
}

// address is the address and the title of a link, as they are shown after its text.
func address(url, title string) string {
	if title != "" {
		url = strings.TrimSpace(url + ` "` + oneLine(unescape(title)) + `"`)
	}
	if url == "" {
		return ""
	}
	return " (" + url + ")"
}

// reference is the definition of a reference, as it is written.
func (r *renderer) reference(n *ast.LinkReferenceDefinition) cell.Line {
	var lines []string
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		lines = append(lines, string(seg.Value(r.src)))
	}
	text, url := cell.Clean(oneLine(unescape(strings.Join(lines, " ")))), cell.Clean(unescape(string(n.Destination)))
	label, rest, ok := strings.Cut(text, "]: ")
	before, after, found := strings.Cut(rest, url)
	if !ok || !found || url == "" {
		return cell.Text(text)
	}
	return cell.Line{
		{Text: label + "]: " + before, Style: cell.Dim},
		{Text: url, Style: cell.Underline, Link: target(url)},
		{Text: after, Style: cell.Dim},
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

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
			if value := string(t.Segment.Value(src)); n.Parent().Kind() == ast.KindCodeSpan {
				b.WriteString(value)
			} else {
				b.WriteString(unescape(value))
			}
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
				if text, ok := character(s[i+1 : i+n]); ok {
					b.WriteString(text)
					i += n
					continue
				}
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// character is what a name such as amp, #39 or #x27 stands for.
func character(name string) (string, bool) {
	digits, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		e, ok := util.LookUpHTML5EntityByName(name)
		if !ok {
			return "", false
		}
		return string(e.Characters), true
	}
	base := 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if err != nil || len(digits) > 7 {
		return "", false
	}
	if n == 0 {
		n = utf8.RuneError
	}
	return string(rune(n)), true
}

// maxReference is the length of the longest reference to a character: &CounterClockwiseContourIntegral;
const maxReference = 33
