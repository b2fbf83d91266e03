package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html/atom"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// blocks writes the content of an element: runs of text as paragraphs, and the blocks between them.
func (c *conversion) blocks(n *node) { c.flow(n, c.paragraph, c.block) }

// flow passes the runs of text in an element and the blocks between them on, in order.
func (c *conversion) flow(n *node, text func(*run), block func(*node)) {
	r := c.newRun()
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if c.stopped() {
			return
		}
		if c.flows(child) {
			r.add(child, 0)
			continue
		}
		text(r)
		r = c.newRun()
		block(child)
	}
	text(r)
}

// flows reports whether a node is inline.
func (c *conversion) flows(n *node) bool {
	return n.kind == textNode || !isBlock(n) && (n.DataAtom == atom.A || !n.has(holderMark))
}

func isBlock(n *node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Dir,
		atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1,
		atom.H2, atom.H3,
		atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li, atom.Listing,
		atom.Main, atom.Menu,
		atom.Nav, atom.Ol, atom.P, atom.Plaintext, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tbody,
		atom.Td, atom.Tfoot,
		atom.Textarea, atom.Th, atom.Thead, atom.Tr, atom.Ul, atom.Xmp, atom.Caption, atom.Colgroup:
		return true
	}
	return false
}

// survey marks inline elements that contain a block, in one pass: checking each of them again would cost the depth of
// the page for every node.
func (c *conversion) survey(n *node) bool {
	holds, rich := false, false
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.kind == elementNode && !c.dropped(child) {
			below := c.survey(child)
			holds = holds || below || isBlock(child)
			rich = rich || child.has(richMark) || isBlock(child) && !isLine(child)
		}
	}
	n.marks &^= holderMark | richMark
	if holds && !isBlock(n) {
		n.marks |= holderMark
	}
	if rich {
		n.marks |= richMark
	}
	return holds
}

// isLine reports whether a block with only text is written as a line.
func isLine(n *node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead, atom.Address, atom.Center, atom.Li, atom.Dt,
		atom.Dd:
		return true
	}
	return false
}

func (c *conversion) block(n *node) {
	if c.dropped(n) {
		return
	}
	if n.has(titleMark) {
		c.title(n)
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.heading(n)
	case atom.Ul, atom.Ol, atom.Dir, atom.Menu:
		c.list(n)
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext, atom.Textarea:
		c.code(n)
	case atom.Blockquote:
		c.out.separate(2)
		c.nested("> ", "> ", n)
		c.out.separate(2)
	case atom.Table:
		c.table(n)
	case atom.Hr:
		c.out.separate(2)
		if !c.options.Plain {
			c.out.write("---")
		}
		c.out.separate(2)
	case atom.Dt, atom.Summary, atom.Legend, atom.Caption:
		c.title(n)
	case atom.Dd:
		c.out.separate(1)
		c.nested(": ", "  ", n)
	case atom.Li: // without a list
		c.out.separate(1)
		c.nested("- ", "  ", n)
	case atom.Tr, atom.Div, atom.Td, atom.Th:
		gap := 1
		if n.has(richMark) {
			gap = 2
		}
		c.out.separate(gap)
		c.blocks(n)
		c.out.separate(gap)
	default:
		c.out.separate(2)
		c.blocks(n)
		c.out.separate(2)
	}
}

// title writes a caption or summary.
func (c *conversion) title(n *node) {
	run := c.newRun()
	run.children(n, bold)
	if s := run.String(); s != "" {
		c.out.separate(2)
		c.out.write(c.marked("**", strings.ReplaceAll(s, "\n", " ")))
	}
}

// nested writes an element with prefixes.
func (c *conversion) nested(first, rest string, n *node) {
	if c.options.Plain {
		first, rest = strings.Repeat(" ", len(first)), strings.Repeat(" ", len(rest))
	}
	c.out.push(first, rest)
	c.blocks(n)
	c.out.pop()
}

func (c *conversion) paragraph(r *run) {
	if s := r.String(); s != "" {
		if !c.options.Plain {
			s = guard(s)
		}
		c.out.write(s)
	}
}

// between writes a paragraph between the items of a list.
func (c *conversion) between(r *run) {
	if r.String() != "" {
		c.out.separate(2)
		c.paragraph(r)
		c.out.separate(2)
	}
}

// structural matches the beginning of a line that would look like a heading, a quotation, a list or a fence.
var structural = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^(#{1,6} |>|[-+*] |```|~~~|---|===)|^([0-9]{1,9})([.)] )")
})

// guard escapes beginnings of lines that aren't meant as structure.
func guard(s string) string {
	if !strings.ContainsAny(s, "#>-+*`~=.)") {
		return s
	}
	return structural().ReplaceAllString(s, `$2\$1$3`)
}

func (c *conversion) heading(n *node) {
	run := c.newRun()
	run.children(n, bold) // bold within a heading has no meaning
	s := strings.ReplaceAll(run.String(), "\n", " ")
	if s == "" {
		return
	}
	if !c.options.Plain {
		s = strings.Repeat("#", int(n.Data[1]-'0')) + " " + s
	}
	c.out.separate(2)
	c.out.write(s)
	c.out.separate(2)
}

func (c *conversion) list(n *node) {
	inItem := n.Parent != nil && n.Parent.DataAtom == atom.Li
	gap := 2
	if inItem {
		gap = 1
	}
	c.out.separate(gap)
	number := 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil && start >= 0 && start < 1_000_000_000 {
		number = start
	}
	c.flow(n, c.between, func(child *node) {
		if child.DataAtom != atom.Li || c.dropped(child) {
			c.block(child)
			return
		}
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		c.out.separate(1)
		c.out.push(mark, strings.Repeat(" ", len(mark)))
		c.blocks(child)
		c.out.pop()
		c.out.gap = 1 // items are close together, whatever they contain
	})
	c.out.separate(gap)
}

// code writes preformatted text in a fence that it can't close.
func (c *conversion) code(n *node) {
	text := strings.Trim(strings.ReplaceAll(c.preformatted(n), "\r\n", "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	c.out.separate(2)
	if c.options.Plain {
		c.out.write(text)
	} else {
		fence := strings.Repeat("`", max(3, humanize.LongestRun(text, '`')+1))
		c.out.write(fence + language(n) + "\n" + text + "\n" + fence)
	}
	c.out.separate(2)
}

// preformatted returns the text of code, without line numbers.
func (c *conversion) preformatted(n *node) string {
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			switch {
			case child.kind == textNode:
				b.WriteString(child.Data)
			case child.DataAtom == atom.Br:
				b.WriteByte('\n')
			case child.kind == elementNode && !never(child):
				walk(child)
				if isBlock(child) && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
					b.WriteByte('\n')
				}
			}
		}
	}
	walk(n)
	return b.String()
}

var languageClass = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*)([A-Za-z0-9+#_.]{1,20})(?:\s|;|$)`)
})

// languageOf returns the language in a class of a highlighter.
func languageOf(class string) string {
	if !strings.Contains(class, "lang") && !strings.Contains(class, "highlight-") && !strings.Contains(class, "brush") {
		return ""
	}
	m := languageClass().FindStringSubmatch(class[:min(len(class), 1000)])
	if m == nil || m[1] == "default" || m[1] == "text" || m[1] == "none" {
		return ""
	}
	return m[1]
}

// language returns the language of code, from the element, the one in it or those around it.
func language(n *node) string {
	near := []*node{n, n.FirstChild}
	// a table with line numbers is deep
	for p := n.Parent; p != nil && len(near) < 9 && p.DataAtom != atom.Li; p = p.Parent {
		near = append(near, p)
	}
	for _, e := range near {
		if e == nil || e.kind != elementNode {
			continue
		}
		if l := attr(e, "data-lang"); l != "" && !strings.ContainsAny(l, " `\n") {
			return l
		}
	}
	return ""
}
