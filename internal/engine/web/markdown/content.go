package markdown

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// mainContent returns the main part of a body: its <main>, or its only <article>, if that has a large part of the text;
// otherwise the body.
func mainContent(body *node) *node {
	var mains, articles []*node
	weigh(body)
	for d := range body.descendants() {
		switch {
		case d.kind != elementNode || d.weight == 0:
		case d.DataAtom == atom.Main || d.has(mainMark):
			mains = append(mains, d)
		case d.DataAtom == atom.Article && !inside(d, atom.Article):
			articles = append(articles, d)
		}
	}
	best := heaviest(mains)
	if best == nil && len(articles) == 1 {
		best = articles[0]
	}
	if best == nil || best.weight < 200 && best.weight*4 < body.weight {
		return body
	}
	return best
}

func heaviest(ns []*node) *node {
	var best *node
	for _, n := range ns {
		if best == nil || n.weight > best.weight {
			best = n
		}
	}
	return best
}

// weigh counts the letters below every element that would be shown.
func weigh(n *node) int32 {
	total := int32(0)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.kind == textNode:
			total += int32(len(strings.TrimSpace(c.Data)))
		case c.kind == elementNode && !never(c) && !besides(c):
			total += weigh(c)
		}
	}
	n.weight = total
	return total
}

// dropped reports whether an element is omitted.
func (c *conversion) dropped(n *node) bool {
	return never(n) || !c.everything && besides(n)
}

// never reports whether an element is never shown.
func never(n *node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Svg, atom.Title, atom.Template, atom.Iframe, atom.Object, atom.Embed,
		atom.Canvas, atom.Audio,
		atom.Video, atom.Map, atom.Head, atom.Link, atom.Meta, atom.Input, atom.Select, atom.Button,
		atom.Datalist, atom.Progress, atom.Meter:
		return true
	}
	return n.has(hiddenMark | noiseMark)
}

// besides reports whether an element is secondary content.
func besides(n *node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Dialog, atom.Menu, atom.Noscript:
		return true
	case atom.Footer:
		return !inside(n, atom.Blockquote) // a quotation's footer is its source
	case atom.Header:
		return !inside(n, atom.Article) && !inside(n, atom.Main) && !inside(n, atom.Section)
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	return n.has(besidesMark)
}
