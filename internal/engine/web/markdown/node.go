package markdown

import (
	"iter"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// node is a text or an element. Pages may have a great many, so it has 64 bytes: most attributes are evaluated when the
// element is read, and only values that are written are stored.
type node struct {
	Parent, FirstChild, NextSibling *node

	Data     string // the text, or the name of the element
	attrs    *attribute
	DataAtom atom.Atom
	weight   int32 // letters below it, once counted
	kind     kind
	marks    marks
}

type kind uint8

const (
	textNode kind = iota
	elementNode
)

// marks are properties of an element, from its attributes.
type marks uint8

const (
	hiddenMark  marks = 1 << iota // browsers do not show it
	noiseMark                     // noise, by its class
	besidesMark                   // secondary content, by its class or role
	mainMark                      // main content, by its role
	layoutMark                    // a layout table
	holderMark                    // inline, but it contains a block
	richMark                      // it contains paragraphs, lists or similar
	titleMark                     // the title of a note, by its class
)

func (n *node) has(m marks) bool { return n.marks&m != 0 }

// attribute is a stored attribute, and the next of the same element.
type attribute struct {
	key, val string
	next     *attribute
}

func attr(n *node, key string) string {
	for a := n.attrs; a != nil; a = a.next {
		if a.key == key {
			return a.val
		}
	}
	return ""
}

const (
	maxLink = 4000 // maximum bytes of a link
	maxAlt  = 1000 // maximum bytes of an image description
)

// learn evaluates an attribute.
func (n *node) learn(key string, value []byte) {
	switch key {
	case "hidden":
		if string(value) != "until-found" {
			n.marks |= hiddenMark
		}
	case "aria-hidden": // pictures are visible anyway
		if string(value) == "true" && n.DataAtom != atom.Img {
			n.marks |= hiddenMark
		}
	case "style":
		if invisible(string(value)) {
			n.marks |= hiddenMark
		}
	case "class":
		n.learnClass(string(value))
	case "id":
		switch strings.ToLower(string(value)) {
		case "sidebar", "side-nav", "left-sidebar", "right-sidebar", "site-footer", "onetrust-consent-sdk",
			"onetrust-banner-sdk", "cookie-banner", "cybotcookiebotdialog":
			n.marks |= besidesMark
		}
	case "http-equiv", "content":
		if n.DataAtom == atom.Meta && len(value) <= maxLink {
			n.keep(key, string(value))
		}
	case "role":
		n.marks |= roleMark(string(value))
	case "href", "src", "data-src":
		if len(value) <= maxLink && (n.DataAtom == atom.A || n.DataAtom == atom.Img || n.DataAtom == atom.Base) {
			n.keep(key, string(value))
		}
	case "lang":
		if n.DataAtom == atom.Pre && len(value) <= 20 {
			n.keep("data-lang", string(value))
		}
	case "alt", "alttext":
		n.keep(key, humanize.Cut(string(value[:min(len(value), maxAlt+1)]), maxAlt))
	case "start", "colspan", "rowspan", "type", "checked", "data-lang":
		if len(value) <= 20 {
			n.keep(key, string(value))
		}
	}
}

// keep stores an attribute; the first of a name counts.
func (n *node) keep(key, value string) {
	for a := n.attrs; a != nil; a = a.next {
		if a.key == key {
			return
		}
	}
	n.attrs = &attribute{key, value, n.attrs}
}

func (n *node) learnClass(class string) {
	if l := languageOf(class); l != "" {
		n.keep("data-lang", l)
	}
	for c := range strings.FieldsSeq(class) {
		switch strings.ToLower(c) {
		case "linenos", "lineno", "gutter", "line-numbers-rows", "blob-num", "rouge-gutter", "sr-only",
			"visually-hidden", "headerlink",
			"mw-editsection", "mw-cite-backlink", "mw-jump-link", "vector-dropdown", "skip-to-content",
			"footnote-backref", "data-footnote-backref":
			n.marks |= noiseMark
		case "admonition-title", "markdown-alert-title":
			n.marks |= titleMark
		case "sidebar", "breadcrumb", "breadcrumbs", "cookie-banner", "cookie-consent", "cookie-notice", "skip-link",
			"share-buttons", "social-share", "advertisement", "ad-slot", "newsletter-signup", "site-footer",
			"site-header", "noprint", "toc-sidebar":
			n.marks |= besidesMark
		}
	}
}

func roleMark(role string) marks {
	switch role {
	case "main":
		return mainMark
	case "presentation", "none":
		return layoutMark
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar",
		"toolbar":
		return besidesMark
	}
	return 0
}

// invisible reports whether a style hides an element. The model doesn't get what users don't see.
func invisible(style string) bool {
	s := strings.ToLower(strings.ReplaceAll(style[:min(len(style), 2000)], " ", ""))
	return strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") ||
		strings.Contains(s, "font-size:0;") || strings.HasSuffix(s, "font-size:0") ||
		strings.HasSuffix(s, "font-size:0px")
}

// descendants returns all nodes below, in the order of the page.
func (n *node) descendants() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for d := n.FirstChild; d != nil; d = n.after(d) {
			if !yield(d) {
				return
			}
		}
	}
}

// after returns the node below n that comes after d; nil if d is the last.
func (n *node) after(d *node) *node {
	if d.FirstChild != nil {
		return d.FirstChild
	}
	for d != n && d.NextSibling == nil {
		d = d.Parent
	}
	if d == n {
		return nil
	}
	return d.NextSibling
}

// find returns the first matching element, in the order of the page.
func find(n *node, fits func(*node) bool) *node {
	for d := range n.descendants() {
		if d.kind == elementNode && fits(d) {
			return d
		}
	}
	return nil
}

// inside reports whether a node is in an element of this name.
func inside(n *node, a atom.Atom) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.DataAtom == a {
			return true
		}
	}
	return false
}

// textOf returns all text below a node, unchanged.
func textOf(n *node) string {
	var b strings.Builder
	for d := range n.descendants() {
		switch {
		case d.kind == textNode:
			b.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}
