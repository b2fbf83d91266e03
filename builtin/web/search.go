package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	engine "github.com/adze-dev/adze/internal/engine/web"
	"github.com/adze-dev/adze/internal/engine/web/websearch"
	"github.com/adze-dev/adze/tool"
)

//go:embed web_search.md
var searchText string

// SearchOptions configure the search engines of web_search. The zero value uses DuckDuckGo, which needs no key.
type SearchOptions struct {
	// Providers are the configured engines, from webSearch.provider in the user's settings and from the environment, in
	// order of preference. DuckDuckGo need not be among them.
	Providers []Provider
	// Default is the type of the engine to use if the model names none; empty: the first.
	Default string
	// Proxy is a function such as http.ProxyFromEnvironment; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
}

// Provider is one search engine, as in webSearch.provider.
type Provider struct {
	Type           string // tavily, google, brave, searxng, duckduckgo, dashscope
	APIKey         string
	SearchEngineID string
	BaseURL        string // may be on this machine: the user chose it
}

type searchArgs struct {
	Query    string `json:"query" description:"Search query."`
	Provider string `json:"provider,omitempty" description:"Search engine (default: the user's choice)."`
	Limit    int    `json:"limit,omitempty" description:"Maximum number of results." minimum:"1" maximum:"20" default:"8" ignored:"allowed_domains,blocked_domains"`
}

// searcher has the engines of a session, in the order they are tried.
type searcher struct {
	engines []*websearch.Engine
	broken  map[string]error // invalid providers of the settings
	first   string           // the user's choice, which need not be one of the engines; "": the first engine
	hint    func() string    // what the model can do with results
}

// Search returns web_search, with a hint what the model can do with results. An invalid provider is reported when it is
// used.
func Search(o SearchOptions, hint func() string) tool.Tool { return newSearcher(o, hint).tool() }

func newSearcher(o SearchOptions, hint func() string) *searcher {
	s := &searcher{hint: hint, broken: map[string]error{}, first: strings.ToLower(strings.TrimSpace(o.Default))}
	for _, p := range append(o.Providers[:len(o.Providers):len(o.Providers)], Provider{Type: "duckduckgo"}) {
		e, err := websearch.New(websearch.Config(p), engine.Options{Proxy: o.Proxy})
		switch {
		case err != nil:
			name := strings.ToLower(strings.TrimSpace(p.Type))
			s.broken[name] = err
			if s.first == "" && len(s.engines) == 0 {
				s.first = name // a query never goes to another engine than the user's without notice
			}
		case s.engine(e.Name()) == nil:
			s.engines = append(s.engines, e)
		}
	}
	return s
}

func (s *searcher) engine(name string) *websearch.Engine {
	for _, e := range s.engines {
		if e.Name() == name {
			return e
		}
	}
	return nil
}

func (s *searcher) names() []string {
	var all []string
	for _, e := range s.engines {
		all = append(all, e.Name())
	}
	return all
}

// choose returns the engine for a call: the one it names, the user's default, or the first configured one.
func (s *searcher) choose(name string) (*websearch.Engine, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	given := name != ""
	if !given {
		name = s.first
	}
	if name == "" {
		return s.engines[0], nil
	}
	if e := s.engine(name); e != nil {
		return e, nil
	}
	if err := s.broken[name]; err != nil {
		return nil, tool.Errorf(searchFailedType, "%w; correct webSearch.provider or the environment, or try again "+
			"with provider %q", err, s.engines[0].Name())
	}
	if given {
		return nil, tool.BadParam("provider", "%q is not set up; there are %s; omit it for the default", name,
			strings.Join(s.names(), ", "))
	}
	return nil, tool.Errorf(searchFailedType, "search the web: webSearch.default names %q, which webSearch.provider "+
		"does not set up", name)
}

const (
	searchFailedType tool.ErrorType = "web_search_backend_failed"
	searchLimited    tool.ErrorType = "web_search_rate_limited"
	searchNothing    tool.ErrorType = "web_search_no_results"
)

// SearchTool is the name of the tool that searches the web. Its kind is Search, although it uses the network.
const SearchTool = "web_search"

func (s *searcher) tool() tool.Tool {
	return tool.Define(tool.Def[searchArgs]{
		Name: SearchTool, DisplayName: "WebSearch", Aliases: []string{"google_web_search"},
		Summary:     "Search the web",
		Description: strings.TrimSpace(searchText), Kind: tool.Search,
		Prepare: func(_ context.Context, a searchArgs) (*tool.Invocation, error) {
			a.Query = strings.Join(strings.Fields(a.Query), " ")
			switch n := utf8.RuneCountInString(a.Query); {
			case n < 2:
				return nil, tool.BadParam("query", "expected at least 2 characters")
			case n > 400:
				return nil, tool.BadParam("query", "expected at most 400 characters, got %d", n)
			}
			engine, err := s.choose(a.Provider)
			if err != nil {
				return nil, err
			}
			inv := &tool.Invocation{
				Description: fmt.Sprintf("search the web for %q with %s", a.Query, engine.Name()),
				Access:      []tool.Access{{Verb: tool.Reaches, Target: engine.Host()}},
				Confirm: tool.Literal(fmt.Sprintf("Search with %s (%s) for:\n%s", engine.Name(), engine.Host(),
					a.Query)),
			}
			if err := engine.Ready(); err != nil {
				inv.Access = []tool.Access{tool.Nothing} // nothing is sent
				return inv, s.failure(engine, err)
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) { return s.run(ctx, engine, a) }
			return inv, nil
		},
	})
}

func (s *searcher) run(ctx context.Context, e *websearch.Engine, a searchArgs) (tool.Result, error) {
	found, err := e.Search(ctx, websearch.Query{Text: a.Query, Limit: a.Limit})
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return tool.Result{}, s.failure(e, err)
	}
	if len(found.Results) == 0 && found.Answer == "" {
		return tool.Result{}, tool.Errorf(searchNothing, "search for %q with %s: nothing was found; use fewer or "+
			"other words", a.Query, e.Name())
	}
	count := fmt.Sprintf("%d results", len(found.Results))
	if len(found.Results) == 1 {
		count = "1 result"
	}
	said := fmt.Sprintf("%s of %s for %q.%s\n\n%s", count, e.Name(), a.Query,
		s.hint(),
		untrusted("the search engine and the pages", resultList(found)))
	return tool.Result{
		Content: []tool.Part{tool.Text(said)},
		Display: tool.Markdown(fmt.Sprintf("%s from %s", count, e.Name())),
	}, nil
}

// resultList formats the results as a numbered list.
func resultList(f websearch.Found) string {
	var b strings.Builder
	if f.Answer != "" {
		fmt.Fprintf(&b, "Summary: %s\n\n", f.Answer)
	}
	for i, r := range f.Results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Date != "" {
			fmt.Fprintf(&b, "   Date: %s\n", r.Date)
		}
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	return b.String()
}

// failure gives an error its documented type and the next step.
func (s *searcher) failure(e *websearch.Engine, err error) error {
	var limit *websearch.LimitError
	kind := searchFailedType
	next := ""
	if errors.As(err, &limit) {
		kind, next = searchLimited, "; wait, or continue without a search"
	}
	for _, other := range s.engines {
		if other != e && other.Ready() == nil {
			next = fmt.Sprintf("; try again with provider %q", other.Name())
			break
		}
	}
	return tool.Errorf(kind, "search the web: %w%s", err, next)
}
