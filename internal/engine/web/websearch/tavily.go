package websearch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/adze-dev/adze/internal/engine/web"
)

func tavily() kind {
	return kind{
		base: "https://api.tavily.com", key: "TAVILY_API_KEY",
		request: func(e *Engine, q Query) (web.Exchange, error) {
			return e.post("/search", map[string]any{
				"query": q.Text, "max_results": q.Limit, "search_depth": "basic", "include_answer": true,
			})
		},
		read: func(a *web.Answer) (Found, error) {
			var v struct {
				Answer  string
				Results []struct {
					Title, URL, Content string
					Date                string `json:"published_date"`
				}
			}
			if err := decode(a, &v); err != nil {
				return Found{}, err
			}
			f := Found{Answer: v.Answer}
			for _, r := range v.Results {
				f.Results = append(f.Results, Result{r.Title, r.URL, r.Content, r.Date})
			}
			return f, nil
		},
		// the plan's limit, and that of pay-as-you-go
		limited: func(a *web.Answer) bool { return a.Status == 432 || a.Status == 433 },
	}
}

// post returns a request with a JSON body and the key as a bearer token.
func (e *Engine) post(path string, body any) (web.Exchange, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return web.Exchange{}, fmt.Errorf("request to %s: %w", e.Name(), err)
	}
	t, err := e.at(path, nil)
	return web.Exchange{Method: http.MethodPost, Target: t, Body: raw, Header: http.Header{
		"Authorization": {"Bearer " + e.config.APIKey}, "Content-Type": {"application/json"},
		"Accept": {"application/json"},
	}}, err
}

// decode reads JSON. A field with the wrong type is omitted, and the others are kept.
func decode(a *web.Answer, v any) error {
	body := bytes.TrimSpace(a.Body)
	if bytes.HasPrefix(body, []byte("<")) {
		return fmt.Errorf("it returned an HTML page, perhaps from a gateway, that begins with %q",
			clean(string(body[:min(len(body), 3000)]), 100))
	}
	if !bytes.HasPrefix(body, []byte("{")) {
		return fmt.Errorf("expected a JSON object, got %q", clean(string(body[:min(len(body), 200)]), 60))
	}
	err := json.Unmarshal(body, v)
	var field *json.UnmarshalTypeError
	switch {
	case errors.As(err, &field) && strings.Contains(field.Field, "."):
		return nil
	case errors.As(err, &field):
		return fmt.Errorf("unexpected response: %s is a JSON %s", strings.ToLower(field.Field), field.Value)
	case err != nil:
		return fmt.Errorf("unexpected response: %w", err)
	}
	return nil
}
