package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mainContent is the part of a body that the page is about: its <main>, or its one <article>, if that holds a good part
// of the text; else the body.
func mainContent(body *html.Node) *html.Node {
	var mains, articles []*html.Node
	weight := map[*html.Node]int{}
	weigh(body, weight)
	for d := range body.Descendants() {
		switch {
		case d.Type != html.ElementNode || weight[d] == 0:
		case d.DataAtom == atom.Main || attr(d, "role") == "main":
			mains = append(mains, d)
		case d.DataAtom == atom.Article && !inside(d, atom.Article):
			articles = append(articles, d)
		}
	}
	best := heaviest(mains, weight)
	if best == nil && len(articles) == 1 {
		best = articles[0]
	}
	if best == nil || weight[best] < 200 && weight[best]*4 < weight[body] {
		return body
	}
	return best
}

func heaviest(ns []*html.Node, weight map[*html.Node]int) *html.Node {
	var best *html.Node
	for _, n := range ns {
		if best == nil || weight[n] > weight[best] {
			best = n
		}
	}
	return best
}

// weigh counts the letters below every element that would be shown.
func weigh(n *html.Node, weight map[*html.Node]int) int {
	total := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			total += len(strings.TrimSpace(c.Data))
		case c.Type == html.ElementNode && !never(c) && !besides(c):
			total += weigh(c, weight)
		}
	}
	weight[n] = total
	return total
}

func inside(n *html.Node, a atom.Atom) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.DataAtom == a {
			return true
		}
	}
	return false
}

// dropped reports whether an element is left out.
func (c *conversion) dropped(n *html.Node) bool {
	return never(n) || !c.everything && besides(n)
}

// never reports whether an element is nothing to read, on any page.
func never(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Svg, atom.Title, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Audio,
		atom.Video, atom.Map, atom.Head, atom.Link, atom.Meta, atom.Input, atom.Select, atom.Textarea, atom.Button,
		atom.Datalist, atom.Progress, atom.Meter:
		return true
	}
	if hidden(n) {
		return true
	}
	return hasClass(n, "linenos", "lineno", "gutter", "line-numbers-rows", "blob-num", "rouge-gutter", "sr-only", "visually-hidden", "headerlink")
}

// hidden reports whether a browser would not show an element. What people do not see, a model is not told either.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			s := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
			if strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") || strings.Contains(s, "font-size:0;") || strings.HasSuffix(s, "font-size:0") || strings.HasSuffix(s, "font-size:0px") {
				return true
			}
		}
	}
	return false
}

// besides reports whether an element stands beside what the page is about.
func besides(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Dialog, atom.Menu:
		return true
	case atom.Footer:
		return !inside(n, atom.Blockquote) // a quotation's footer is its source
	case atom.Header:
		return !inside(n, atom.Article) && !inside(n, atom.Main) && !inside(n, atom.Section)
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar":
		return true
	}
	return hasClass(n, "sidebar", "breadcrumb", "breadcrumbs", "cookie-banner", "cookie-consent", "cookie-notice", "skip-link",
		"share-buttons", "social-share", "advertisement", "ad-slot", "newsletter-signup", "site-footer", "site-header", "noprint", "toc-sidebar")
}

func hasClass(n *html.Node, names ...string) bool {
	class := attr(n, "class")
	if class == "" {
		return false
	}
	for _, c := range strings.Fields(class) {
		for _, name := range names {
			if strings.EqualFold(c, name) {
				return true
			}
		}
	}
	return false
}
