package websearch

import (
	"errors"
	"strings"

	"github.com/adze-dev/adze/internal/engine/web"
)

func dashscope() kind {
	return kind{
		base: "https://dashscope.aliyuncs.com", key: "DASHSCOPE_API_KEY",
		request: func(e *Engine, q Query) (web.Exchange, error) {
			return e.post("/api/v1/indices/plugin/web_search", map[string]any{"uq": q.Text, "page": 1, "rows": q.Limit})
		},
		read: readDashScope,
		limited: func(a *web.Answer) bool {
			return a.Status >= 400 && strings.Contains(complaint(a.Body), "Throttling")
		},
	}
}

func readDashScope(a *web.Answer) (Found, error) {
	var v struct {
		Status  int
		Message string
		Data    struct {
			Docs []struct {
				Title, URL, Snippet string
				Date                string `json:"timestamp_format"`
			}
		}
	}
	if err := decode(a, &v); err != nil {
		return Found{}, err
	}
	if v.Status != 0 {
		if v.Message == "" {
			v.Message = "no reason given"
		}
		return Found{}, errors.New("search failed: " + clean(v.Message, 200))
	}
	var f Found
	for _, r := range v.Data.Docs {
		f.Results = append(f.Results, Result{r.Title, r.URL, r.Snippet, r.Date})
	}
	return f, nil
}
