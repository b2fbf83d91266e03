// Package markdown makes Markdown of HTML pages: of their main content, for a reader who is a model.
//
//	doc, err := markdown.Convert(ctx, page, markdown.Options{Base: pageURL})
//	fmt.Println(doc.Title, doc.Text)
//
// Headings, lists, links, images, code and tables are kept; scripts, styles, navigation, forms and what is hidden are
// not. It goes through a page once: the time is linear in its length, whatever the page is made of, and what is written
// is bounded. Characters that Markdown would read as emphasis are not escaped, because the reader is no Markdown
// program; only what would pass for the structure of the page is.
package markdown

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"
)

// Options says what is wanted of a page.
type Options struct {
	// Base is the URL of the page: its relative links become absolute.
	Base *url.URL
	// Limit is how many bytes are written at most; 1 MB if 0.
	Limit int
	// Plain leaves the marks of Markdown out: just the text.
	Plain bool
}

// Document is what became of a page.
type Document struct {
	Title string
	Text  string
	Cut   bool // there was more than the limit
	// Refresh is where browsers are sent on to from this page; "" mostly.
	Refresh string
}

const defaultLimit = 1 << 20

// Convert makes Markdown of a page. It fails only if the context ends.
func Convert(ctx context.Context, page string, o Options) (Document, error) {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	root, cut := parse(ctx, page)
	c := &conversion{ctx: ctx, options: o, base: o.Base}
	doc := c.head(root)
	doc.Text, doc.Cut = c.render(mainContent(root))
	if doc.Text == "" && ctx.Err() == nil { // all of it is what we leave out: better that than nothing
		c.everything = true
		doc.Text, doc.Cut = c.render(root)
	}
	doc.Cut = doc.Cut || cut
	return doc, ctx.Err()
}

// conversion is one page on its way.
type conversion struct {
	ctx        context.Context
	options    Options
	base       *url.URL
	everything bool // nothing but scripts is omitted
	steps      int
	out        writer
}

func (c *conversion) render(n *node) (string, bool) {
	c.out = writer{limit: c.options.Limit}
	c.survey(n)
	c.blocks(n)
	return c.out.text()
}

// stopped reports whether nothing more is to be written. It looks at the context now and then.
func (c *conversion) stopped() bool {
	c.steps++
	if c.steps%4096 == 0 && c.ctx.Err() != nil {
		c.out.full = true
	}
	return c.out.full
}

// head reads the title, and where relative links begin.
func (c *conversion) head(root *node) Document {
	var doc Document
	if n := find(root, func(n *node) bool { return n.DataAtom == atom.Title && !inside(n, atom.Svg) }); n != nil {
		doc.Title = shorten(collapse(textOf(n)), 300)
	}
	if n := find(root, func(n *node) bool { return n.DataAtom == atom.Base && attr(n, "href") != "" }); n != nil {
		if href, err := url.Parse(attr(n, "href")); err == nil && c.base != nil {
			c.base = c.base.ResolveReference(href)
		}
	}
	if n := find(root, func(n *node) bool {
		return n.DataAtom == atom.Meta && strings.EqualFold(attr(n, "http-equiv"), "refresh")
	}); n != nil {
		doc.Refresh = c.refresh(attr(n, "content"))
	}
	return doc
}

// refresh returns where a page leads to: "0; url=/new".
func (c *conversion) refresh(content string) string {
	_, ref, ok := strings.Cut(content, ";")
	key, ref, named := strings.Cut(ref, "=")
	if !ok || !named || !strings.EqualFold(strings.TrimSpace(key), "url") {
		return ""
	}
	return c.absolute(strings.Trim(strings.TrimSpace(ref), `'"`))
}

// absolute returns a link as it can be fetched; "" if it cannot: a script, a place on the same page.
func (c *conversion) absolute(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || ref[0] == '#' || len(ref) > 4000 {
		return ""
	}
	u, err := url.Parse(lineBreaks.Replace(ref))
	if err != nil {
		return ""
	}
	if c.base != nil {
		u = c.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "mailto", "ftp", "tel", "":
	default:
		return ""
	}
	return linkMarks.Replace(u.String())
}

var (
	lineBreaks = strings.NewReplacer("\n", "", "\r", "", "\t", "") // browsers leave them out of a link
	linkMarks  = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E")
	brackets   = strings.NewReplacer("[", `\[`, "]", `\]`)
)

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
