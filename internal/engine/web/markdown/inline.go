package markdown

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// style is the current markup: the same mark twice would mean something else.
type style uint8

const (
	bold style = 1 << iota
	italic
	struck
	inCode
	inLink
)

// run is a run of inline text: whitespace collapsed, elements as marks.
type run struct {
	c     *conversion
	b     strings.Builder
	space bool // whitespace is pending before the next character
	began bool // there was whitespace at the beginning
}

func (c *conversion) newRun() *run { return &run{c: c} }

// String returns the text without surrounding whitespace, and without whitespace before line endings.
func (r *run) String() string { return strings.TrimSpace(r.b.String()) }

func (r *run) text(s string) {
	for len(s) > 0 && r.b.Len() <= r.c.options.Limit {
		i := strings.IndexAny(s, " \t\n\r\f")
		if i < 0 {
			r.raw(s)
			return
		}
		if i > 0 {
			r.raw(s[:i])
		}
		r.pause()
		s = s[i+1:]
	}
}

// pause adds pending whitespace.
func (r *run) pause() {
	if r.b.Len() == 0 {
		r.began = true
		return
	}
	r.space = true
}

func (r *run) raw(s string) {
	if s == "" {
		return
	}
	if r.space && !r.endsLine() {
		r.b.WriteByte(' ')
	}
	r.space = false
	r.b.WriteString(s)
}

func (r *run) endsLine() bool {
	s := r.b.String()
	return s == "" || s[len(s)-1] == '\n'
}

func (r *run) children(n *node, s style) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		r.add(child, s)
	}
}

func (r *run) add(n *node, s style) {
	if n.kind == textNode {
		r.text(strings.ReplaceAll(n.Data, "\u00a0", " "))
		return
	}
	if n.kind != elementNode || r.c.stopped() || r.b.Len() > r.c.options.Limit {
		return
	}
	if n.DataAtom == atom.Input && attr(n, "type") == "checkbox" && !n.has(hiddenMark) {
		r.checkbox(n)
	}
	if r.c.dropped(n) {
		return
	}
	switch n.DataAtom {
	case atom.Br:
		r.space = false
		r.b.WriteByte('\n')
	case atom.Wbr:
	case atom.B, atom.Strong:
		r.mark("**", n, s, bold)
	case atom.I, atom.Em, atom.Cite, atom.Dfn, atom.Var:
		r.mark("*", n, s, italic)
	case atom.S, atom.Del, atom.Strike:
		r.mark("~~", n, s, struck)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Pre: // a pre in a cell
		r.code(n, s)
	case atom.A:
		r.link(n, s)
	case atom.Img:
		r.image(n, s)
	case atom.Q:
		r.raw("“")
		r.children(n, s)
		r.raw("”")
	case atom.Sup:
		r.raised("^", n, s)
	case atom.Sub:
		r.raised("_", n, s)
	case atom.Math:
		if tex := attr(n, "alttext"); tex != "" {
			r.raw(formula(tex))
			return
		}
		r.children(n, s)
	case atom.Li: // in a cell
		if s := r.b.String(); n.Parent.FirstChild != n && s != "" &&
			!strings.ContainsRune(";,.:!?", rune(s[len(s)-1])) {
			r.space = false
			r.raw(";")
		}
		r.apart(n, s)
	default:
		if isBlock(n) || n.DataAtom == atom.Label { // of a block in a link or a cell only whitespace remains
			r.apart(n, s)
			return
		}
		r.children(n, s)
	}
}

// apart writes an element with whitespace around it.
func (r *run) apart(n *node, s style) {
	r.pause()
	r.children(n, s)
	r.pause()
}

// mark puts marks around an element's text, unless they are already in effect.
func (r *run) mark(mark string, n *node, s, own style) {
	if s&(own|inCode) != 0 || r.c.options.Plain {
		r.children(n, s|own)
		return
	}
	r.wrap(n, s|own, func(text string) string { return r.c.marked(mark, text) })
}

func (c *conversion) marked(mark, text string) string {
	if c.options.Plain || strings.Trim(text, mark) == "" {
		return text
	}
	return mark + text + mark
}

// wrap writes the text of an element with something around it, and keeps whitespace outside.
func (r *run) wrap(n *node, s style, around func(string) string) {
	inner := r.c.newRun()
	inner.children(n, s)
	text := inner.String()
	if inner.began {
		r.pause()
	}
	if text != "" {
		r.raw(around(text))
	}
	if inner.space {
		r.pause()
	}
}

func (r *run) code(n *node, s style) {
	if s&inCode != 0 || r.c.options.Plain {
		r.children(n, s)
		return
	}
	r.wrap(n, s|inCode, func(text string) string {
		text = strings.ReplaceAll(text, "\n", " ")
		ticks := strings.Repeat("`", humanize.LongestRun(text, '`')+1)
		if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
			text = " " + text + " "
		}
		return ticks + text + ticks
	})
}

func (r *run) link(n *node, s style) {
	href := r.c.absolute(attr(n, "href"))
	if s&(inLink|inCode) != 0 || href == "" || r.c.options.Plain {
		if href == "" && anchorSign(n) {
			return
		}
		r.children(n, s)
		return
	}
	r.wrap(n, s|inLink, func(text string) string {
		text = humanize.Cut(strings.ReplaceAll(text, "\n", " "), 1000)
		switch {
		case text == href, "mailto:"+text == href:
			return "<" + href + ">"
		case isSign(text):
			return ""
		}
		return "[" + brackets.Replace(text) + "](" + href + ")"
	})
}

// anchorSign reports whether a link within the page is only the permalink sign of a heading.
func anchorSign(n *node) bool { return isSign(strings.TrimSpace(textOf(n))) }

func isSign(text string) bool {
	switch text {
	case "¶", "#", "§", "🔗", "⚓", "↩", "↩︎", "^":
		return true
	}
	return false
}

// checkbox writes the checkbox of a task list; other form elements are omitted.
func (r *run) checkbox(n *node) {
	if n.Parent == nil || n.Parent.DataAtom != atom.Li && n.Parent.DataAtom != atom.P &&
		n.Parent.DataAtom != atom.Label {
		return
	}
	for a := n.attrs; a != nil; a = a.next {
		if a.key == "checked" {
			r.raw("[x]")
			return
		}
	}
	r.raw("[ ]")
}

func (r *run) image(n *node, s style) {
	alt := humanize.Cut(collapse(attr(n, "alt")), 300)
	if alt == "" {
		return
	}
	src := r.c.absolute(attr(n, "src"))
	if src == "" || strings.HasPrefix(attr(n, "src"), "data:") { // it is loaded by a script
		src = r.c.absolute(attr(n, "data-src"))
	}
	if strings.HasPrefix(alt, `{\displaystyle`) {
		r.raw(formula(alt))
		return
	}
	if src == "" || s&inLink != 0 || r.c.options.Plain {
		r.raw(alt)
		return
	}
	r.raw("![" + brackets.Replace(alt) + "](" + src + ")")
}

// formula returns TeX between dollars, without the wrapper of wikis.
func formula(tex string) string {
	if inner, ok := strings.CutPrefix(tex, `{\displaystyle`); ok {
		tex = strings.TrimSuffix(inner, "}")
	}
	return "$" + collapse(tex) + "$"
}

// raised writes an index so that x² doesn't become x2.
func (r *run) raised(mark string, n *node, s style) {
	inner := r.c.newRun()
	inner.children(n, s)
	text := inner.String()
	switch {
	case text == "":
	case utf8.RuneCountInString(text) <= 3 || strings.HasPrefix(text, "["):
		r.raw(mark + text)
	case utf8.RuneCountInString(text) > 30: // small print
		r.raw(text)
	default:
		r.raw(mark + "(" + text + ")")
	}
}
