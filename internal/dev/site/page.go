package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is a page of the site.
type page struct {
	File  string // index.html
	Title string

	// Contents are the sections, without the title.
	Contents []section

	source   string // docs/guide.md
	about    string // its first paragraph
	doc      ast.Node
	content  []byte
	anchors  map[string]bool
	links    []link
	pictures []string // paths in the repository
	index    []indexEntry
}

type section struct{ ID, Title string }

// link is a link to another page of the repository, or to a file in it.
type link struct{ to, anchor string }

// indexEntry is a section in the index of the search.
type indexEntry struct {
	File    string `json:"f"` // with the anchor
	Page    string `json:"p"`
	Heading string `json:"h"`
	Text    string `json:"t"`
}

// repository is the URL for links to files that aren't pages.
const repository = "https://github.com/adze-dev/adze/blob/main/"

// fileOf returns the file of a page.
func fileOf(source string) string {
	switch source {
	case "README.md":
		return "index.html"
	case "SECURITY.md": // docs/security.md is another page
		return "security-policy.html"
	}
	return strings.ToLower(strings.TrimSuffix(path.Base(source), ".md")) + ".html"
}

// isPage reports whether a path in the repository is a page.
func isPage(source string) bool {
	return strings.HasSuffix(source, ".md") && (path.Dir(source) == "docs" || path.Dir(source) == "." &&
		source != "AGENTS.md" && source != "CONTRIBUTING.md")
}

func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// render reads the page of a Markdown file.
func render(source string, content []byte) *page {
	p := &page{
		File: fileOf(source), source: source, content: content, anchors: map[string]bool{},
		Title: strings.TrimSuffix(path.Base(source), ".md"),
	}
	p.doc = markdown().Parser().Parse(text.NewReader(content),
		parser.WithContext(parser.NewContext(parser.WithIDs(&ids{taken: map[string]bool{}}))))
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no errors
		if entering {
			p.visit(n, content)
		}
		return ast.WalkContinue, nil
	})
	return p
}

// html returns the page. Links to pages lead to those of the site, with titles in place of file names.
func (p *page) html(site map[string]*page) string {
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(l.Destination)
		other := site[p.resolve(to)]
		if other != nil && strings.HasSuffix(plain(n, p.content), path.Base(other.source)) {
			l.RemoveChildren(l)
			l.AppendChild(l, ast.NewString([]byte(other.Title)))
		}
		l.Destination = []byte(p.target(to))
		return ast.WalkContinue, nil
	})
	var b bytes.Buffer
	_ = markdown().Renderer().Render(&b, p.content, p.doc) // can't fail in memory
	return b.String()
}

// visit collects headings and texts for the search, and converts links to pages.
func (p *page) visit(n ast.Node, content []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		id, _ := n.AttributeString("id")
		name, _ := id.([]byte)
		p.anchors[string(name)] = true
		heading := plain(n, content)
		switch n.Level {
		case 1:
			p.Title = heading
		case 2:
			p.Contents = append(p.Contents, section{string(name), heading})
		}
		p.index = append(p.index, indexEntry{File: p.File + "#" + string(name), Page: p.Title, Heading: heading})
	case *ast.Link:
		if to := p.resolve(string(n.Destination)); to != "" || strings.HasPrefix(string(n.Destination), "#") {
			_, anchor, _ := strings.Cut(string(n.Destination), "#")
			p.links = append(p.links, link{cmp.Or(to, p.source), anchor})
		}
	case *ast.Image:
		if at := p.resolve(string(n.Destination)); at != "" {
			p.pictures = append(p.pictures, at)
			n.Destination = []byte(path.Base(at))
		}
	default:
		if n.Type() == ast.TypeBlock && n.ChildCount() == 0 || n.Kind() == ast.KindParagraph ||
			n.Kind() == ast.KindTextBlock || n.Kind() == table.KindTableCell {
			if len(p.index) > 0 {
				last := &p.index[len(p.index)-1]
				last.Text = strings.TrimSpace(last.Text + " " + plain(n, content))
				if n.Kind() == ast.KindParagraph {
					first, _, _ := strings.Cut(plain(n, content)+" ", ". ")
					p.about = cmp.Or(p.about, strings.TrimRight(first, " .:"))
				}
			}
		}
	}
}

// plain returns the text of a node.
func plain(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		switch c := c.(type) {
		case *ast.Text:
			if entering {
				b.Write(c.Segment.Value(content))
			}
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				for i := range c.Lines().Len() {
					line := c.Lines().At(i)
					b.Write(line.Value(content))
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// resolve returns the path in the repository of a link; "": it leads elsewhere.
func (p *page) resolve(to string) string {
	if u, err := url.Parse(to); err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return ""
	}
	to, _, _ = strings.Cut(to, "#")
	return path.Join(path.Dir(p.source), to)
}

// target returns the target of a link on the site.
func (p *page) target(to string) string {
	at := p.resolve(to)
	if at == "" {
		return to
	}
	out := repository + at
	if isPage(at) {
		out = fileOf(at)
	}
	if _, anchor, ok := strings.Cut(to, "#"); ok {
		out += "#" + anchor
	}
	return out
}

// checkLinks reports broken links.
func checkLinks(root string, site map[string]*page) error {
	var errs []error
	for _, p := range site {
		for _, l := range p.links {
			to, known := site[l.to]
			if !known {
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(l.to))); err != nil {
					errs = append(errs, fmt.Errorf("%s: there is no %s", p.source, l.to))
				}
				continue
			}
			if l.anchor != "" && !to.anchors[l.anchor] {
				errs = append(errs, fmt.Errorf("%s: %s has no heading #%s", p.source, l.to, l.anchor))
			}
		}
	}
	return errors.Join(errs...)
}

// ids are the anchors of headings, in GitHub's format.
type ids struct{ taken map[string]bool }

// Generate implements goldmark's parser.IDs.
func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
			b.WriteRune(r)
		}
	}
	id := b.String()
	for n := 1; s.taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", b.String(), n)
	}
	s.taken[id] = true
	return []byte(id)
}

// Put implements goldmark's parser.IDs.
func (s *ids) Put(value []byte) { s.taken[string(value)] = true }
