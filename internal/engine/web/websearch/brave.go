package websearch

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/web"
)

// braveWords is the maximum number of words in a query.
const braveWords = 50

func brave() kind {
	return kind{
		base: "https://api.search.brave.com", key: "BRAVE_API_KEY",
		request: func(e *Engine, q Query) (web.Exchange, error) {
			words := strings.Fields(q.Text)
			words = words[:min(len(words), braveWords)]
			t, err := e.at("/res/v1/web/search",
				url.Values{"q": {strings.Join(words, " ")}, "count": {strconv.Itoa(q.Limit)}})
			return web.Exchange{Target: t, Header: http.Header{
				"Accept": {"application/json"}, "X-Subscription-Token": {e.config.APIKey},
			}}, err
		},
		read: func(a *web.Answer) (Found, error) {
			var v struct {
				Web struct {
					Results []struct {
						Title, URL, Description, Age string
						PageAge                      string `json:"page_age"`
					}
				}
			}
			if err := decode(a, &v); err != nil {
				return Found{}, err
			}
			var f Found
			for _, r := range v.Web.Results {
				date := r.PageAge
				if date == "" {
					date = r.Age
				}
				f.Results = append(f.Results, Result{r.Title, r.URL, r.Description, date})
			}
			return f, nil
		},
		limited: func(a *web.Answer) bool {
			return a.Status >= 400 && (strings.Contains(complaint(a.Body), "RATE_LIMITED") ||
				strings.Contains(complaint(a.Body), "QUOTA_LIMITED"))
		},
	}
}
