// Package markdown converts the main content of HTML pages to Markdown for models.
//
//	doc, err := markdown.Convert(ctx, page, markdown.Options{Base: pageURL})
//	fmt.Println(doc.Title, doc.Text)
//
// Headings, lists, links, images, code and tables are kept; scripts, styles, navigation, forms and hidden elements are
// not. It takes one pass: the time is linear for any page, and the output is bounded. Characters that Markdown would
// read as emphasis are not escaped, because the reader is a model; only text that would look like the structure of the
// page is.
package markdown

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Options configure a conversion.
type Options struct {
	// Base is the URL of the page: its relative links become absolute.
	Base *url.URL
	// Limit is the maximum number of bytes written; 1 MB if 0.
	Limit int
	// Plain omits the marks of Markdown: just the text.
	Plain bool
}

// Document is a converted page.
type Document struct {
	Title string
	Text  string
	Cut   bool // the page exceeded the limit
	// Refresh is the target of a refresh in the page; usually "".
	Refresh string
}

const defaultLimit = 1 << 20

// Convert converts a page. It only fails if the context ends.
func Convert(ctx context.Context, page string, o Options) (Document, error) {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	root, cut := parse(ctx, page)
	c := &conversion{ctx: ctx, options: o, base: o.Base}
	doc := c.head(root)
	doc.Text, doc.Cut = c.render(mainContent(root))
	if doc.Text == "" && ctx.Err() == nil { // everything was omitted: convert it anyway
		c.everything = true
		doc.Text, doc.Cut = c.render(root)
	}
	doc.Cut = doc.Cut || cut
	return doc, ctx.Err()
}

// conversion is the state of a conversion.
type conversion struct {
	ctx        context.Context
	options    Options
	base       *url.URL
	everything bool // only scripts are omitted
	steps      int
	out        writer
}

func (c *conversion) render(n *node) (string, bool) {
	c.out = writer{limit: c.options.Limit}
	c.survey(n)
	c.blocks(n)
	return c.out.text()
}

// stopped reports whether nothing more is written. It checks the context now and then.
func (c *conversion) stopped() bool {
	c.steps++
	if c.steps%4096 == 0 && c.ctx.Err() != nil {
		c.out.full = true
	}
	return c.out.full
}

// head reads the title and the base URL.
func (c *conversion) head(root *node) Document {
	var doc Document
	if n := find(root, func(n *node) bool { return n.DataAtom == atom.Title && !inside(n, atom.Svg) }); n != nil {
		doc.Title = humanize.Cut(collapse(textOf(n)), 300)
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

// refresh returns the target in "0; url=/new".
func (c *conversion) refresh(content string) string {
	_, ref, ok := strings.Cut(content, ";")
	key, ref, named := strings.Cut(ref, "=")
	if !ok || !named || !strings.EqualFold(strings.TrimSpace(key), "url") {
		return ""
	}
	return c.absolute(strings.Trim(strings.TrimSpace(ref), `'"`))
}

// absolute returns a link that can be fetched; "" if it can't: a script, a place on the same page.
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
	lineBreaks = strings.NewReplacer("\n", "", "\r", "", "\t", "") // browsers remove them from a link
	linkMarks  = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E")
	brackets   = strings.NewReplacer("[", `\[`, "]", `\]`)
)

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }
