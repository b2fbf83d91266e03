package markdown

import (
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// flat is the text of a page that is nested too deeply for a tree: no main content, no marks, one paragraph a block.
func flat(ctx context.Context, page string, o Options) (Document, error) {
	var doc Document
	out := writer{limit: o.Limit}
	c := &conversion{ctx: ctx, options: o}
	run := c.newRun()
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(16 << 20)
	inTitle := false
	skip := "" // the element whose text is left out
	for steps := 0; !out.full; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind == html.TextToken {
			switch {
			case inTitle:
				doc.Title = shorten(collapse(string(z.Text())), 300)
			case skip == "":
				run.text(html.UnescapeString(string(z.Text())))
			}
			continue
		}
		raw, _ := z.TagName()
		name := string(raw)
		a := atom.Lookup(raw)
		switch {
		case kind == html.StartTagToken && skip == "" && never(&html.Node{DataAtom: a}):
			if a == atom.Script || a == atom.Style || a == atom.Textarea || a == atom.Iframe || a == atom.Noscript || a == atom.Template {
				skip = name
			}
		case kind == html.EndTagToken && name == skip:
			skip = ""
		case a == atom.Title:
			inTitle = kind == html.StartTagToken
		}
		if isBlock(&html.Node{DataAtom: a}) || a == atom.Br {
			if s := run.String(); s != "" {
				out.write(s)
			}
			run = c.newRun()
		}
	}
	if s := run.String(); s != "" {
		out.write(s)
	}
	doc.Text, doc.Cut = out.text()
	return doc, nil
}
