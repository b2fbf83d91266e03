// Package websearch queries search engines.
//
//	engine, err := websearch.New(websearch.Config{Type: "tavily", APIKey: key}, web.Options{})
//	found, err := engine.Search(ctx, websearch.Query{Text: "go generics", Limit: 5})
//
// Each engine is a request and a parser of its response. The common part is here: requests are checked as all of
// package web are, responses are bounded, and failures are distinguished: no key, too many requests, nothing found.
package websearch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/web"
)

// Config is the user's configuration of a search engine.
type Config struct {
	Type           string // tavily, google, brave, searxng, duckduckgo or dashscope
	APIKey         string
	SearchEngineID string // of Google's Custom Search
	BaseURL        string // instead of the engine's own URL; may be on this machine, because the user chose it
}

// Query is a search query.
type Query struct {
	Text  string
	Limit int // maximum number of results; 5 if 0
}

// Found is the result of a search.
type Found struct {
	Answer  string // the engine's own summary, if it gives one
	Results []Result
}

// Result is one page that was found. All its text is untrusted.
type Result struct {
	Title   string
	URL     string
	Snippet string
	Date    string // as the engine writes it; "" if unknown
}

// Engine is a configured search engine.
type Engine struct {
	config Config
	kind   kind
	base   web.Target
	client *web.Client
}

// kind describes a type of engine.
type kind struct {
	base    string // default URL
	key     string // the environment variable with its key; "": it needs none
	needs   func(Config) string
	request func(*Engine, Query) (web.Exchange, error)
	read    func(*web.Answer) (Found, error)
	// limited reports whether a response means that the limit is exceeded, besides status 429.
	limited func(*web.Answer) bool
	// explain explains a failure that the engine doesn't explain itself; "" if it does.
	explain func(*web.Answer) string
}

func kinds() map[string]kind {
	return map[string]kind{
		"tavily":     tavily(),
		"google":     google(),
		"brave":      brave(),
		"searxng":    searxng(),
		"duckduckgo": duckduckgo(),
		"dashscope":  dashscope(),
	}
}

// Types returns the types of engines.
func Types() []string {
	var all []string
	for name := range kinds() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// KeyError reports a missing key or setting of an engine.
type KeyError struct {
	Engine  string
	Missing string // "an API key: set BRAVE_API_KEY, or apiKey in webSearch.provider"
}

func (e *KeyError) Error() string { return fmt.Sprintf("%s requires %s", e.Engine, e.Missing) }

// RejectedError reports that an engine rejects the key.
type RejectedError struct {
	Engine string
	Said   string
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s rejected the API key: %s", e.Engine, e.Said)
}

// LimitError reports that an engine's rate limit or quota is exceeded.
type LimitError struct {
	Engine     string
	RetryAfter string // when to retry, if the engine says so: "3 seconds"
	Said       string
}

func (e *LimitError) Error() string {
	said := e.Engine + " limits the request rate"
	if e.Said != "" {
		said += ": " + e.Said
	}
	if e.RetryAfter != "" {
		said += "; retry after " + e.RetryAfter
	}
	return said
}

// AnswerError reports an unusable response of an engine.
type AnswerError struct {
	Engine string
	Said   string
}

func (e *AnswerError) Error() string { return fmt.Sprintf("request to %s: %s", e.Engine, e.Said) }

// New makes an engine. It fails if the type is unknown or the base URL is invalid; a missing key is reported by Search.
func New(c Config, o web.Options) (*Engine, error) {
	c.Type = strings.ToLower(strings.TrimSpace(c.Type))
	k, ok := kinds()[c.Type]
	if !ok {
		return nil, fmt.Errorf("unknown search provider %q (available: %s)", c.Type, strings.Join(Types(), ", "))
	}
	base := k.base
	if c.BaseURL != "" {
		base = strings.TrimRight(c.BaseURL, "/")
	}
	e := &Engine{config: c, kind: k}
	if base != "" { // SearXNG has no default URL
		target, err := web.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("search with %s: %w", c.Type, err)
		}
		e.base = target
	}
	o.AllowPrivate = nil
	if c.BaseURL != "" {
		o.AllowPrivate = []string{e.base.HostPort()}
	}
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	client, err := web.New(o)
	e.client = client
	return e, err
}

// Name returns the type of the engine.
func (e *Engine) Name() string { return e.config.Type }

// Host returns the host that the query is sent to, for a policy.
func (e *Engine) Host() string { return e.base.Host() }

// Ready returns a *[KeyError] if something is missing.
func (e *Engine) Ready() error {
	if e.kind.needs != nil {
		if missing := e.kind.needs(e.config); missing != "" {
			return &KeyError{e.Name(), missing}
		}
	}
	if e.kind.key != "" && e.config.APIKey == "" {
		return &KeyError{e.Name(), fmt.Sprintf("an API key: set %s, or apiKey of its entry in webSearch.provider",
			e.kind.key)}
	}
	return nil
}

const (
	defaultLimit = 5
	maxLimit     = 20
)

// Search searches. Results are cleaned: one line each, limited in length, without duplicates, and only pages that can
// be fetched.
func (e *Engine) Search(ctx context.Context, q Query) (Found, error) {
	if err := e.Ready(); err != nil {
		return Found{}, err
	}
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, maxLimit)
	x, err := e.kind.request(e, q)
	if err != nil {
		return Found{}, err
	}
	answer, err := e.client.Do(ctx, x)
	if err != nil {
		return Found{}, err
	}
	if err := e.failure(answer); err != nil {
		return Found{}, err
	}
	found, err := e.kind.read(answer)
	if err != nil {
		return Found{}, &AnswerError{e.Name(), err.Error()}
	}
	return tidy(found, q.Limit), nil
}

// failure returns the error of a failed response.
func (e *Engine) failure(a *web.Answer) error {
	limited := a.Status == http.StatusTooManyRequests || e.kind.limited != nil && e.kind.limited(a)
	if !limited && a.Status >= 200 && a.Status <= 299 {
		return nil
	}
	said := complaint(a.Body)
	if e.kind.explain != nil {
		said = cmp.Or(e.kind.explain(a), said)
	}
	if e.config.APIKey != "" {
		said = strings.ReplaceAll(said, e.config.APIKey, "…")
	}
	switch {
	case limited:
		return &LimitError{e.Name(), clean(web.RetryAfter(a.Header), 40), said}
	case a.Status == http.StatusUnauthorized, keyRejected(a, said):
		return &RejectedError{e.Name(), said}
	case said == "":
		said = http.StatusText(a.Status)
	}
	return &AnswerError{e.Name(), fmt.Sprintf("it returned %d: %s", a.Status, said)}
}

// keyRejected reports whether a failure is about the key although its status isn't.
func keyRejected(a *web.Answer, said string) bool {
	if a.Status < 400 || a.Status > 499 {
		return false
	}
	said = strings.ToLower(said)
	for _, words := range []string{"api key not valid", "invalid api key", "invalidapikey",
		"subscription_token_invalid", "subscription_not_found", "api key expired"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// at returns a URL below the engine's base.
func (e *Engine) at(path string, query url.Values) (web.Target, error) {
	u := e.base.URL()
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+path, ""
	u.RawQuery = query.Encode()
	return web.Parse(u.String())
}
