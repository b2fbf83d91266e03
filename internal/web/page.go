package web

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/adze-dev/adze/internal/web/markdown"
)

// Page is what a server gave.
type Page struct {
	Asked    string // the URL that was asked for
	URL      string // the one that answered
	Redirect string // where it leads to, on another host: then nothing was fetched from there, and all below is empty
	Status   int
	Body     []byte
	Size     int // of the body, also when it was let go
	// Note says what is odd about how the page was got; "" mostly.
	Note string
	// Incomplete says why the body is only the beginning of what there is; "" if it is all.
	Incomplete string
	Cached     bool // it was fetched a while ago

	contentType string
	noStore     bool
}

// MIME is the type the server declares, without parameters; where it declares none, what the content looks like.
func (p *Page) MIME() string {
	if t := p.declared(); t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(p.Body), ";")
	return t
}

// declared is the media type of the header in lower case.
func (p *Page) declared() string {
	t, _, err := mime.ParseMediaType(p.contentType)
	if err != nil { // a broken parameter says nothing about the type
		t, _, _ = strings.Cut(p.contentType, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	if t == "application/octet-stream" || !strings.Contains(t, "/") || len(t) > 127 || strings.ContainsAny(t, " \t\r\n") {
		return ""
	}
	return t
}

// IsHTML reports whether the body is a page for browsers.
func (p *Page) IsHTML() bool {
	switch t := p.declared(); t {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(p.Body), "text/html")
	}
	return false
}

// IsJSON reports whether the body is declared as JSON.
func (p *Page) IsJSON() bool {
	t := p.declared()
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")
}

// Name is a name for a file of the body.
func (p *Page) Name() string {
	t, err := Parse(p.URL)
	if err != nil {
		return "download"
	}
	name := path.Base(t.Path())
	if name == "/" || name == "." {
		return t.host.name
	}
	return name
}

// excerpt is the beginning of the text, in one line. Of a page for browsers it is what users would read: its source
// begins with pages of other things.
func (p *Page) excerpt(ctx context.Context) string {
	if strings.ContainsRune(string(p.Body[:min(len(p.Body), 512)]), 0) {
		return ""
	}
	short := *p
	short.Body = p.Body[:min(len(p.Body), 256<<10)]
	text, _ := short.Text(len(short.Body))
	if p.IsHTML() {
		if doc, err := markdown.Convert(ctx, text, markdown.Options{Limit: 4000, Plain: true}); err == nil {
			text = cmp.Or(doc.Text, doc.Title)
		}
	}
	text = strings.ToValidUTF8(text[:min(len(text), 4000)], "")
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 500 {
		text = string(runes[:500]) + "…"
	}
	return text
}
