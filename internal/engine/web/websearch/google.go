package websearch

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/web"
)

func google() kind {
	return kind{
		base: "https://www.googleapis.com", key: "GOOGLE_API_KEY",
		needs: func(c Config) string {
			if c.SearchEngineID == "" {
				return "the id of a Programmable Search Engine: set GOOGLE_SEARCH_ENGINE_ID, or searchEngineId of " +
					"its entry in webSearch.provider"
			}
			return ""
		},
		request: func(e *Engine, q Query) (web.Exchange, error) {
			t, err := e.at("/customsearch/v1", url.Values{
				"key": {e.config.APIKey}, "cx": {e.config.SearchEngineID}, "q": {q.Text},
				"num": {strconv.Itoa(min(q.Limit, 10))},
			})
			return web.Exchange{Target: t, Header: http.Header{"Accept": {"application/json"}}}, err
		},
		read: readGoogle,
		limited: func(a *web.Answer) bool {
			said := complaint(a.Body)
			return a.Status == http.StatusForbidden &&
				(strings.Contains(said, "LimitExceeded") || strings.Contains(said, "uotaExceeded") ||
					strings.Contains(said, "Quota exceeded"))
		},
	}
}

func readGoogle(a *web.Answer) (Found, error) {
	var v struct {
		Items []struct {
			Title, Link, Snippet string
			Pagemap              struct {
				Metatags []map[string]any
			}
		}
	}
	if err := decode(a, &v); err != nil {
		return Found{}, err
	}
	var f Found
	for _, r := range v.Items {
		date, snippet := snippetDate(r.Snippet)
		if len(r.Pagemap.Metatags) > 0 {
			if published, ok := r.Pagemap.Metatags[0]["article:published_time"].(string); ok {
				date = published
			}
		}
		f.Results = append(f.Results, Result{r.Title, r.Link, snippet, date})
	}
	return f, nil
}

// snippetDate returns the date at the beginning of Google's snippets ("Mar 22, 2022 ... "), and the rest.
func snippetDate(snippet string) (date, rest string) {
	head, rest, ok := strings.Cut(snippet, " ... ")
	if !ok {
		return "", snippet
	}
	if _, err := time.Parse("Jan 2, 2006", strings.TrimSpace(head)); err != nil && !strings.HasSuffix(head, " ago") ||
		len(head) > 20 {
		return "", snippet
	}
	return strings.TrimSpace(head), rest
}
