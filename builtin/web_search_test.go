package builtin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/builtin/web"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

// engines returns a server that answers as SearXNG and Brave do.
func engines(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query().Get("q"); {
		case r.URL.Path == "/res/v1/web/search":
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":{"code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan."}}`)
		case q == "nothing at all":
			io.WriteString(w, `{"results":[]}`)
		default:
			io.WriteString(w, `{"results":[{"title":"About `+q+`","url":"https://example.org/1","content":"The <b>first</b> words.","publishedDate":"2026-01-02"},{"title":"","url":"https://example.org/2"},{"url":"https://example.org/3"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func searchTools(t *testing.T, o web.SearchOptions) *tool.Executor {
	t.Helper()
	set, err := New(Options{Dir: t.TempDir(), WebSearch: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return executor(set)
}

func noHint() string { return "" }

func TestWebSearch(t *testing.T) {
	s := engines(t)
	x := searchTools(t, web.SearchOptions{Providers: []web.Provider{{Type: "tavily"}, {Type: "brave", APIKey: "k", BaseURL: s.URL}, {Type: "searxng", BaseURL: s.URL}, {Type: "glm"}}, Default: "SearXNG"})
	out := call(t, x, "web_search", args{"query": "  go   generics ", "limit": 2})
	want := "2 results of searxng for \"go generics\". Read a page with web_fetch.\n\n" + marked("the search engine and the pages",
		"1. About go generics\n   https://example.org/1\n   Date: 2026-01-02\n   The first words.\n2. example.org\n   https://example.org/2")
	if diff := cmp.Diff(want, sameMarks(out.Result.Text())); out.Status != tool.StatusSuccess || diff != "" {
		t.Errorf("%s\n%s", out.Status, diff)
	}
	for _, c := range []struct {
		args args
		kind tool.ErrorType
		said string
	}{
		{args{"query": "nothing at all"}, "web_search_no_results", "nothing was found; use fewer or other words"},
		{args{"query": "x y", "provider": "brave"}, "web_search_rate_limited", `Request rate limit exceeded for plan.; try again with provider "searxng"`},
		{args{"query": "x y", "provider": "tavily"}, "web_search_backend_failed", `tavily requires an API key: set TAVILY_API_KEY, or apiKey of its entry in webSearch.provider; try again with provider "brave"`},
		{args{"query": "x y", "provider": "glm"}, "web_search_backend_failed", `unknown search provider "glm" (available: brave,`},
		{args{"query": "x y", "provider": "google"}, tool.InvalidParams, `"google" is not set up; there are tavily, brave, searxng, duckduckgo`},
		{args{"query": strings.Repeat("x", 401)}, tool.InvalidParams, "at most 400 characters, got 401"},
	} {
		out := call(t, x, "web_search", c.args)
		if out.Status != tool.StatusError || out.Error.Type != c.kind || !strings.Contains(out.Error.Message, c.said) {
			t.Errorf("%v: got %s, %+v", c.args, out.Status, out.Error)
		}
	}
}

// Without any setting there is one engine, which needs no key; a default that is not set up is an error. A provider that was
// set up wrongly used to be skipped, and the query went to DuckDuckGo, which the user had not chosen.
func TestWebSearchChoice(t *testing.T) {
	for name, c := range map[string]struct {
		options web.SearchOptions
		host    string
		said    string
	}{
		"nothing set":         {web.SearchOptions{}, "html.duckduckgo.com", ""},
		"the first":           {web.SearchOptions{Providers: []web.Provider{{Type: "brave", APIKey: "k"}, {Type: "tavily", APIKey: "k"}}}, "api.search.brave.com", ""},
		"the default":         {web.SearchOptions{Providers: []web.Provider{{Type: "brave", APIKey: "k"}, {Type: "tavily", APIKey: "k"}}, Default: "tavily"}, "api.tavily.com", ""},
		"moved":               {web.SearchOptions{Providers: []web.Provider{{Type: "duckduckgo", BaseURL: "http://localhost:8888"}}}, "localhost:8888", ""},
		"one that is none":    {web.SearchOptions{Providers: []web.Provider{{Type: "bing", APIKey: "k"}}}, "", `unknown search provider "bing" (available: brave, dashscope, duckduckgo, google, searxng, tavily); correct webSearch.provider or the environment, or try again with provider "duckduckgo"`},
		"no URL":              {web.SearchOptions{Providers: []web.Provider{{Type: "searxng", BaseURL: "my server"}}}, "", "search with searxng: the URL my server:"},
		"a later one is none": {web.SearchOptions{Providers: []web.Provider{{Type: "brave", APIKey: "k"}, {Type: "bing"}}}, "api.search.brave.com", ""},
		"a wrong default":     {web.SearchOptions{Default: "bing"}, "", `webSearch.default names "bing"`},
	} {
		inv, err := web.Search(c.options, noHint).Prepare(t.Context(), []byte(`{"query":"go generics"}`))
		switch {
		case c.said != "":
			if err == nil || !strings.Contains(err.Error(), c.said) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || inv.Access[0] != (tool.Access{Verb: tool.Reaches, Target: c.host}):
			t.Errorf("%s: %v, %v", name, inv, err)
		}
	}
}

func TestWebSearchCheck(t *testing.T) {
	s := engines(t)
	build := func(string) tool.Tool {
		return web.Search(web.SearchOptions{Providers: []web.Provider{{Type: "searxng", BaseURL: s.URL}, {Type: "brave", APIKey: "k", BaseURL: s.URL}}}, noHint)
	}
	tooltest.Check(t, build, tooltest.Try{Args: `{"query":"go generics"}`}, tooltest.Try{Args: `{"query":"go generics","provider":"brave"}`, Fails: true}, tooltest.Try{Args: `{"query":"x"}`, Fails: true})
}
