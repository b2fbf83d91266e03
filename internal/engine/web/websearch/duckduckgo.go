package websearch

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/adze-dev/adze/internal/engine/web"
)

// duckduckgo reads the page for browsers without scripts: there is no API. It needs no key, and rejects frequent
// requests.
func duckduckgo() kind {
	return kind{
		base: "https://html.duckduckgo.com",
		request: func(e *Engine, q Query) (web.Exchange, error) {
			t, err := e.at("/html/", nil)
			return web.Exchange{Method: http.MethodPost, Target: t,
				Body: []byte(url.Values{"q": {q.Text}, "b": {""}}.Encode()), Header: http.Header{
					"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"text/html"},
					"Referer": {"https://html.duckduckgo.com/"},
				}}, err
		},
		read:    readDuckDuckGo,
		limited: isRobotCheck,
		explain: func(a *web.Answer) string {
			if isRobotCheck(a) {
				return "it shows a CAPTCHA, as it does after a few searches in a row"
			}
			return ""
		},
	}
}

// isRobotCheck reports whether the response is a CAPTCHA. It has status 202, sometimes 200.
func isRobotCheck(a *web.Answer) bool {
	return a.Status == http.StatusAccepted || a.Status == http.StatusForbidden ||
		bytes.Contains(a.Body, []byte("anomaly-modal")) || bytes.Contains(a.Body, []byte("bots use DuckDuckGo"))
}

// readDuckDuckGo reads the tags in one pass: a link with the class result__a is a title, the following result__snippet
// is its snippet, and a date is in a span of result__extras__url.
func readDuckDuckGo(a *web.Answer) (Found, error) {
	var p duckPage
	z := html.NewTokenizer(bytes.NewReader(a.Body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(p.found.Results) == 0 && !p.known {
				return Found{}, errors.New("its page format changed, and no results were found in it. Use " +
					"another provider")
			}
			return p.found, nil
		case html.TextToken:
			if p.text != nil && len(*p.text) < 5000 {
				*p.text += string(z.Raw()) // with its entities: tidy decodes them
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "a" || string(name) == "div" || string(name) == "span" {
				p.text = nil
			}
		case html.StartTagToken:
			p.start(z.Token())
		}
	}
}

// duckPage is the state of reading the page.
type duckPage struct {
	found Found
	text  *string // where text is added
	known bool    // it is a page of results, even if there are none
	ad    bool    // the current result is an advertisement
	extra bool    // the text is about the URL of the current result
}

func (p *duckPage) start(t html.Token) {
	classes := strings.Fields(attr(t, "class"))
	has := func(name string) bool { return slices.Contains(classes, name) }
	p.known = p.known || has("no-results") || attr(t, "id") == "links"
	last := len(p.found.Results) - 1
	switch {
	case has("result"):
		p.ad, p.extra = has("result--ad"), false
	case has("result__a") && len(p.found.Results) < 100:
		href := unwrap(attr(t, "href"))
		if p.ad {
			href = "" // so it is omitted with its snippet
		}
		p.found.Results = append(p.found.Results, Result{URL: href})
		p.text, p.extra = &p.found.Results[last+1].Title, false
	case last < 0:
	case has("result__snippet"):
		p.text, p.extra = &p.found.Results[last].Snippet, false
	case has("result__extras__url"):
		p.extra = true
	case p.extra && t.Data == "span" && len(classes) == 0:
		p.text = &p.found.Results[last].Date
	}
}

// unwrap returns the target of a link. Advertisements lead to the engine itself, and are omitted.
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
