package websearch

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/adze-dev/adze/internal/web"
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

// readDuckDuckGo goes through the tags once: a link with the class result__a is a title, what follows with
// result__snippet is its snippet.
func readDuckDuckGo(a *web.Answer) (Found, error) {
	var f Found
	var text *string // where text belongs at present
	known := false
	z := html.NewTokenizer(bytes.NewReader(a.Body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(f.Results) == 0 && !known {
				return Found{}, errors.New("its page has changed, and no results can be seen in it; use another provider")
			}
			return f, nil
		case html.TextToken:
			if text != nil && len(*text) < 5000 {
				*text += string(z.Raw()) // with its entities: tidy undoes them
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "a" || string(name) == "div" {
				text = nil
			}
		case html.StartTagToken:
			t := z.Token()
			class := " " + attr(t, "class") + " "
			known = known || strings.Contains(class, " no-results ") || attr(t, "id") == "links"
			switch {
			case strings.Contains(class, " result__a ") && len(f.Results) < 100:
				f.Results = append(f.Results, Result{URL: unwrap(attr(t, "href"))})
				text = &f.Results[len(f.Results)-1].Title
			case strings.Contains(class, " result__snippet ") && len(f.Results) > 0:
				text = &f.Results[len(f.Results)-1].Snippet
			}
		}
	}
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

func attr(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
