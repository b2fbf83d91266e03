package websearch

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/web"
)

// tidy returns results that can be fetched, without duplicates.
func tidy(f Found, limit int) Found {
	out := Found{Answer: clean(f.Answer, 2000)}
	seen := map[string]bool{}
	for _, r := range f.Results {
		t, err := web.Parse(r.URL)
		if err != nil || seen[t.String()] || len(out.Results) == limit {
			continue
		}
		seen[t.String()] = true
		title := clean(r.Title, 200)
		if title == "" {
			title = t.Host()
		}
		out.Results = append(out.Results, Result{
			Title: title, URL: t.String(), Snippet: clean(r.Snippet, 500), Date: day(clean(r.Date, 40)),
		})
	}
	return out
}

// day removes a time of midnight from a date.
func day(date string) string {
	if len(date) > 10 && strings.HasPrefix(date[10:], "T00:00:00") {
		return date[:10]
	}
	return date
}

var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</?[a-zA-Z][^<>]{0,200}>`) })

// clean makes one line of limited length of an engine's text, which may have tags and entities.
func clean(s string, limit int) string {
	if len(s) > 20*limit {
		s = s[:20*limit]
	}
	s = html.UnescapeString(tags().ReplaceAllString(s, ""))
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if runes := []rune(s); len(runes) > limit {
		s = strings.TrimSpace(string(runes[:limit])) + "…"
	}
	return s
}

// complaint returns the message of a JSON error, in the format of any engine; otherwise the beginning of the body.
func complaint(body []byte) string {
	var v map[string]any
	if json.Unmarshal(body, &v) == nil {
		if said := words(v, 3); said != "" {
			return clean(said, 300)
		}
	}
	return clean(string(body[:min(len(body), 3000)]), 200)
}

// words collects the texts under the usual names of error messages.
func words(v map[string]any, depth int) string {
	var said []string
	for _, key := range []string{"code", "error", "detail", "message", "reason", "msg", "errors"} {
		switch w := v[key].(type) {
		case string:
			said = append(said, w)
		case map[string]any:
			if depth > 0 {
				said = append(said, words(w, depth-1))
			}
		case []any:
			if len(w) > 0 && depth > 0 {
				if first, ok := w[0].(map[string]any); ok {
					said = append(said, words(first, depth-1))
				}
			}
		}
	}
	var kept []string
	for _, w := range said {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, ": ")
}
