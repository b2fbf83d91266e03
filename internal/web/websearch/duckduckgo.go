package websearch

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/adze-dev/adze/internal/web"
	"github.com/adze-dev/adze/internal/web/markdown"
)

// duckduckgo has no API: its page for browsers without scripts is read. It needs no key, and it stops answering those
// who ask often.
func duckduckgo() kind {
	return kind{
		base: "https://html.duckduckgo.com",
		request: func(e *Engine, q Query) (web.Exchange, error) {
			t, err := e.at("/html/", nil)
			return web.Exchange{Method: http.MethodPost, Target: t, Body: []byte(url.Values{"q": {q.Text}, "b": {""}}.Encode()), Header: http.Header{
				"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"text/html"}, "Referer": {"https://html.duckduckgo.com/"},
			}}, err
		},
		read: readDuckDuckGo,
		limited: func(a *web.Answer) bool {
			return a.Status == http.StatusAccepted || a.Status == http.StatusForbidden || bytes.Contains(a.Body, []byte("anomaly-modal"))
		},
	}
}

func readDuckDuckGo(a *web.Answer) (Found, error) {
	root, _ := markdown.Tree(context.Background(), string(a.Body))
	var f Found
	known := false
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		class := " " + attr(n, "class") + " "
		known = known || strings.Contains(class, " no-results ") || attr(n, "id") == "links"
		switch {
		case strings.Contains(class, " result__a "):
			f.Results = append(f.Results, Result{Title: textOf(n), URL: unwrap(attr(n, "href"))})
		case strings.Contains(class, " result__snippet ") && len(f.Results) > 0:
			f.Results[len(f.Results)-1].Snippet = textOf(n)
		}
	}
	if len(f.Results) == 0 && !known {
		return Found{}, errors.New("its page has changed, and no results can be seen in it; use another provider")
	}
	return f, nil
}

// unwrap is where a link of the page really leads to. Advertisements lead to the engine itself, and are left out.
func unwrap(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if real := u.Query().Get("uddg"); real != "" {
		if strings.Contains(real, "duckduckgo.com/y.js") {
			return ""
		}
		return real
	}
	if u.Host == "" || strings.HasSuffix(u.Host, "duckduckgo.com") {
		return ""
	}
	return href
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return html.EscapeString(b.String()) // tidy undoes it: a title may be about <b>
}
