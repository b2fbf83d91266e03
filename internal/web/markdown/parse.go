package markdown

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxSource = 5 << 20 // bytes of a page that are looked at; few have more, and nobody reads them to the end
	maxNodes  = 200_000 // of a tree; more would take more memory than the page is worth
	maxDepth  = 300     // beyond it, what is nested stands side by side
)

// parse makes a tree of a page in one pass; cut says that the page was too large for it, or that the context ended. It is
// more lenient than the parser of browsers and does not rebuild what is nested wrongly: that parser makes 1.2 million
// elements, 200 MB, of 15 kB of the right mistakes, and gives up on others. Attributes that say nothing about content
// are left out.
func parse(ctx context.Context, page string) (root *html.Node, cut bool) {
	if len(page) > maxSource {
		page, cut = strings.ToValidUTF8(page[:maxSource], ""), true
	}
	root = &html.Node{Type: html.DocumentNode}
	p := &parser{open: []*html.Node{root}, count: map[string]int{}}
	z := html.NewTokenizer(strings.NewReader(page))
	for nodes := 0; ; nodes++ {
		if nodes%4096 == 0 && ctx.Err() != nil {
			return root, true
		}
		kind := z.Next()
		if kind == html.ErrorToken {
			return root, cut
		}
		if nodes >= maxNodes {
			return root, true
		}
		switch kind {
		case html.TextToken:
			p.top().AppendChild(&html.Node{Type: html.TextNode, Data: string(z.Text())})
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(element(z), kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			p.end(element(z))
		}
	}
}

// parser is the elements that are open, the innermost last. How many there are of each name saves most looks through them.
type parser struct {
	open  []*html.Node
	count map[string]int
}

func (p *parser) top() *html.Node { return p.open[len(p.open)-1] }

// element is the element of a tag, with those of its attributes that matter here.
func element(z *html.Tokenizer) *html.Node {
	name, more := z.TagName()
	n := &html.Node{Type: html.ElementNode, Data: string(name), DataAtom: atom.Lookup(name)}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href", "src", "alt", "class", "style", "hidden", "aria-hidden", "role", "id", "colspan", "rowspan", "start", "type", "checked", "data-lang":
			if len(n.Attr) < 20 {
				n.Attr = append(n.Attr, html.Attribute{Key: string(key), Val: string(value)})
			}
		}
	}
	return n
}

func (p *parser) start(n *html.Node, selfClosing bool) {
	switch n.DataAtom {
	case atom.Html, atom.Head, atom.Body:
		return // their children are the page's own
	}
	p.imply(n)
	p.top().AppendChild(n)
	if isVoid(n) || len(p.open) > maxDepth || selfClosing && p.count["svg"]+p.count["math"] > 0 {
		return
	}
	p.open = append(p.open, n)
	p.count[n.Data]++
}

// cut closes all but the first n open elements.
func (p *parser) cut(n int) {
	for _, closed := range p.open[n:] {
		p.count[closed.Data]--
	}
	p.open = p.open[:n]
}

func isVoid(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// imply closes what a new element ends without saying so.
func (p *parser) imply(n *html.Node) {
	switch n.DataAtom {
	case atom.Li:
		p.close(listBarrier, atom.Li)
	case atom.Dt, atom.Dd:
		p.close(listBarrier, atom.Dt, atom.Dd)
	case atom.Td, atom.Th:
		p.close(rowBarrier, atom.Td, atom.Th)
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

// The barriers: elements that what stands in them cannot close.
func tableBarrier(n *html.Node) bool { return n.DataAtom == atom.Table }

func rowBarrier(n *html.Node) bool { return n.DataAtom == atom.Tr || n.DataAtom == atom.Table }

func cellBarrier(n *html.Node) bool {
	return n.DataAtom == atom.Td || n.DataAtom == atom.Th || n.DataAtom == atom.Table || n.DataAtom == atom.Template || n.DataAtom == atom.Caption
}

func listBarrier(n *html.Node) bool {
	return isBlock(n) && n.DataAtom != atom.Div && n.DataAtom != atom.P && n.DataAtom != atom.Address
}

// close ends the outermost of some elements on this side of a barrier, and all that is in it.
func (p *parser) close(barrier func(*html.Node) bool, atoms ...atom.Atom) {
	some := false
	for _, a := range atoms {
		some = some || p.count[a.String()] > 0
	}
	if !some {
		return
	}
	at := 0
	for i := len(p.open) - 1; i > 0; i-- {
		switch n := p.open[i]; {
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

// end closes an element that is open, unless a cell or table stands between.
func (p *parser) end(t *html.Node) {
	if t.DataAtom == atom.Br {
		p.start(t, false)
		return
	}
	if p.count[t.Data] == 0 {
		return
	}
	for i := len(p.open) - 1; i > 0; i-- {
		n := p.open[i]
		if n.Data == t.Data {
			p.cut(i)
			return
		}
		if cellBarrier(n) && t.DataAtom != atom.Table && t.DataAtom != atom.Tr && t.DataAtom != atom.Tbody && t.DataAtom != atom.Thead && t.DataAtom != atom.Tfoot && t.DataAtom != atom.Template {
			return
		}
	}
}
