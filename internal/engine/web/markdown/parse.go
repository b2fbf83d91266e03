package markdown

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MaxSource is the maximum number of bytes of a page that are read.
const MaxSource = 4 << 20

const (
	maxNodes = 120_000 // of a tree, including attributes
	maxDepth = 300     // deeper elements are siblings
	maxToken = 1 << 20 // bytes of one tag or text: as much as can be written of a whole page
)

// parse makes a tree of a page in one pass; cut means that the page was too large, or that the context ended. It is
// more lenient than the parser of browsers and doesn't repair wrong nesting: that parser makes 1.2 million elements,
// 200 MB, of 15 kB of certain mistakes, and gives up on others.
func parse(ctx context.Context, page string) (root *node, cut bool) {
	if len(page) > MaxSource {
		page, cut = strings.ToValidUTF8(page[:MaxSource], ""), true
	}
	root = &node{kind: elementNode}
	p := &parser{open: []opened{{node: root}}, count: map[string]int{}}
	for page != "" && !p.full {
		page = p.read(ctx, page)
	}
	return root, cut || p.full
}

// parser has the open elements, the innermost last, and their number by name, which saves most searches.
type parser struct {
	open  []opened
	count map[string]int
	nodes int
	full  bool // the limit was reached
}

// opened is an open element, and its last child.
type opened struct {
	*node
	last *node
}

func (p *parser) top() *node { return p.open[len(p.open)-1].node }

// read reads tokens. It returns the rest after a token that is too long.
func (p *parser) read(ctx context.Context, page string) (rest string) {
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxToken)
	var kind html.TokenType
	for at, tokens := 0, 0; ; at, tokens = at+len(z.Raw()), tokens+1 {
		before := kind
		kind = z.Next()
		if p.nodes++; p.nodes >= maxNodes || tokens%4096 == 0 && ctx.Err() != nil {
			p.full = true
			return ""
		}
		switch kind {
		case html.ErrorToken:
			if z.Err() == html.ErrBufferExceeded {
				return p.tooLong(page[at:], before)
			}
			return ""
		case html.TextToken:
			p.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			n := element(z)
			for a := n.attrs; a != nil; a = a.next {
				p.nodes++
			}
			p.start(n, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(named(name))
		}
	}
}

// tooLong returns the rest after a token that is too long. A comment and a script are skipped; at a text or a tag the
// page ends.
func (p *parser) tooLong(page string, token html.TokenType) (rest string) {
	end := "</" + p.top().Data // in the usual letter case; otherwise the page ends here
	switch {
	case token == html.CommentToken:
		end = "-->"
	case !never(p.top()):
		p.full = true
		return ""
	}
	i := strings.Index(page, end)
	if i < 0 {
		p.full = true
		return ""
	}
	return strings.TrimPrefix(page[i:], "-->")
}

func (p *parser) text(data []byte) {
	if len(bytes.TrimSpace(data)) == 0 && p.count["pre"] == 0 {
		p.add(&node{kind: textNode, Data: " "}) // a page has as many of these as tags
		return
	}
	p.add(&node{kind: textNode, Data: string(data)})
}

// add adds a node at the end of the innermost open element.
func (p *parser) add(n *node) {
	in := &p.open[len(p.open)-1]
	n.Parent = in.node
	if in.last == nil {
		in.FirstChild = n
	} else {
		in.last.NextSibling = n
	}
	in.last = n
}

func named(name []byte) *node {
	n := &node{kind: elementNode, DataAtom: atom.Lookup(name)}
	if n.Data = n.DataAtom.String(); n.DataAtom == 0 {
		n.Data = string(name[:min(len(name), 100)])
	}
	return n
}

// element returns the element of a tag, with its relevant attributes.
func element(z *html.Tokenizer) *node {
	name, more := z.TagName()
	n := named(name)
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		n.learn(string(key), value)
	}
	return n
}

func (p *parser) start(n *node, selfClosing bool) {
	switch n.DataAtom {
	case atom.Html, atom.Head, atom.Body:
		return // their children belong to the page
	}
	p.imply(n)
	p.add(n)
	if isVoid(n) || len(p.open) > maxDepth || selfClosing && p.count["svg"]+p.count["math"] > 0 {
		return
	}
	p.open = append(p.open, opened{node: n})
	p.count[n.Data]++
}

// cut closes all but the first n open elements.
func (p *parser) cut(n int) {
	for _, closed := range p.open[n:] {
		if p.count[closed.Data]--; p.count[closed.Data] == 0 {
			delete(p.count, closed.Data)
		}
	}
	p.open = p.open[:n]
}

func isVoid(n *node) bool {
	switch n.DataAtom {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// imply closes elements that a new one ends implicitly.
func (p *parser) imply(n *node) {
	switch n.DataAtom {
	case atom.Li:
		p.close(listBarrier, atom.Li)
	case atom.Dt, atom.Dd:
		p.close(listBarrier, atom.Dt, atom.Dd)
	case atom.Td, atom.Th:
		p.close(rowBarrier, atom.Td, atom.Th)
		switch p.top().DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot: // the row begins here
			p.nodes++
			p.start(named([]byte("tr")), false)
		}
	case atom.Tr:
		p.close(tableBarrier, atom.Tr)
	case atom.Thead, atom.Tbody, atom.Tfoot:
		p.close(tableBarrier, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr)
	case atom.Option, atom.Optgroup:
		p.close(tableBarrier, atom.Option)
	case atom.A:
		p.close(isBlock, atom.A)
	}
	if isBlock(n) {
		p.close(cellBarrier, atom.P)
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		switch p.top().DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			p.cut(len(p.open) - 1)
		}
	}
}

// tableBarrier and the functions below report whether an element can't be closed by elements in it.
func tableBarrier(n *node) bool { return n.DataAtom == atom.Table }

func rowBarrier(n *node) bool { return n.DataAtom == atom.Tr || n.DataAtom == atom.Table }

func cellBarrier(n *node) bool {
	return n.DataAtom == atom.Td || n.DataAtom == atom.Th || n.DataAtom == atom.Table || n.DataAtom == atom.Template ||
		n.DataAtom == atom.Caption
}

func listBarrier(n *node) bool {
	return isBlock(n) && n.DataAtom != atom.Div && n.DataAtom != atom.P && n.DataAtom != atom.Address
}

// close closes the outermost of some elements inside of a barrier, and everything in it.
func (p *parser) close(barrier func(*node) bool, atoms ...atom.Atom) {
	some := false
	for _, a := range atoms {
		some = some || p.count[a.String()] > 0
	}
	if !some {
		return
	}
	at := 0
	for i := len(p.open) - 1; i > 0; i-- {
		switch n := p.open[i].node; {
		case slices.Contains(atoms, n.DataAtom):
			at = i
		case barrier(n):
			i = 0
		}
	}
	if at > 0 {
		p.cut(at)
	}
}

// end closes an open element, unless a cell or table is between.
func (p *parser) end(t *node) {
	if t.DataAtom == atom.Br {
		p.start(t, false)
		return
	}
	if p.count[t.Data] == 0 {
		return
	}
	for i := len(p.open) - 1; i > 0; i-- {
		n := p.open[i].node
		if n.Data == t.Data {
			p.cut(i)
			return
		}
		if cellBarrier(n) && t.DataAtom != atom.Table && t.DataAtom != atom.Tr && t.DataAtom != atom.Tbody &&
			t.DataAtom != atom.Thead && t.DataAtom != atom.Tfoot && t.DataAtom != atom.Template {
			return
		}
	}
}
