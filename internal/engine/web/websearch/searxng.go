package websearch

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/adze-dev/adze/internal/engine/web"
)

// searxng is the user's own server, which queries other engines.
func searxng() kind {
	return kind{
		needs: func(c Config) string {
			if c.BaseURL == "" {
				return "the URL of a server: set SEARXNG_URL, or baseUrl of its entry in webSearch.provider"
			}
			return ""
		},
		request: func(e *Engine, q Query) (web.Exchange, error) {
			t, err := e.at("/search", url.Values{"q": {q.Text}, "format": {"json"}})
			h := http.Header{"Accept": {"application/json"}}
			if e.config.APIKey != "" { // for a gateway that requires one
				h.Set("Authorization", "Bearer "+e.config.APIKey)
			}
			return web.Exchange{Target: t, Header: h}, err
		},
		read: readSearXNG,
		explain: func(a *web.Answer) string {
			if a.Status == http.StatusForbidden {
				return jsonOff
			}
			return ""
		},
	}
}

// jsonOff explains the error of a server with the default configuration.
const jsonOff = "it doesn't return JSON. Enable the json format in search.formats of its settings.yml"

func readSearXNG(a *web.Answer) (Found, error) {
	var v struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       any
		}
		Answers      []any
		Unresponsive []any `json:"unresponsive_engines"` // usually pairs of a name and a reason
	}
	if strings.HasPrefix(strings.TrimSpace(string(a.Body[:min(len(a.Body), 200)])), "<") {
		return Found{}, errors.New("it returned an HTML page: " + jsonOff)
	}
	if err := decode(a, &v); err != nil {
		return Found{}, err
	}
	var f Found
	for _, r := range v.Results {
		date, _ := r.PublishedDate.(string)
		f.Results = append(f.Results, Result{r.Title, r.URL, r.Content, date})
	}
	if len(v.Answers) > 0 {
		switch answer := v.Answers[0].(type) { // a text in old versions
		case string:
			f.Answer = answer
		case map[string]any:
			f.Answer, _ = answer["answer"].(string)
		}
	}
	if len(f.Results) == 0 && len(v.Unresponsive) > 0 {
		var names []string
		for _, u := range v.Unresponsive[:min(len(v.Unresponsive), 5)] {
			if pair, ok := u.([]any); ok {
				u = strings.TrimSpace(fmt.Sprintln(pair...))
			}
			names = append(names, clean(fmt.Sprint(u), 60))
		}
		return Found{}, fmt.Errorf("none of its search engines responded: %s", strings.Join(names, "; "))
	}
	return f, nil
}
