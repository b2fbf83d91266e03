package websearch

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/internal/engine/web"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// server answers every request in one way, and notes the last one.
type server struct {
	status int
	header map[string]string
	body   string

	got struct{ method, url, auth, token, body string }
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.got.method, s.got.url, s.got.body = r.Method, r.URL.String(), string(body)
	s.got.auth, s.got.token = r.Header.Get("Authorization"), r.Header.Get("X-Subscription-Token")
	for k, v := range s.header {
		w.Header().Set(k, v)
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	io.WriteString(w, s.body)
}

// ask asks an engine that is really the test's server.
func ask(t *testing.T, c Config, s *server, o web.Options) (Found, error) {
	t.Helper()
	srv := httptest.NewServer(s)
	defer srv.Close()
	c.BaseURL = srv.URL
	e, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return e.Search(t.Context(), Query{Text: `go "generics" & more`, Limit: 3})
}

func config(kind string) Config {
	return Config{Type: kind, APIKey: "k-123", SearchEngineID: "cx-9"}
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The request to each engine, and the result of a response in its format.
func TestSearch(t *testing.T) {
	tests := map[string]struct {
		answer                         string
		method, url, auth, token, body string
		want                           Found
	}{
		"tavily": {"tavily.json", "POST", "/search", "Bearer k-123", "", `{"include_answer":true,"max_results":3,"query":"go \"generics\" \u0026 more","search_depth":"basic"}`,
			Found{"Go has had generics since 1.18.", []Result{
				{"Tutorial: Getting started with generics", "https://go.dev/doc/tutorial/generics", "This tutorial introduces the basics of generics in Go.", ""},
				{"Go 1.18 is released!", "https://go.dev/blog/go1.18", "Go 1.18 includes generics.", "Tue, 15 Mar 2022 00:00:00 GMT"},
				{"go.dev", "https://go.dev/", "", ""}}}},
		"google": {"google.json", "GET", "/customsearch/v1?cx=cx-9&key=k-123&num=3&q=go+%22generics%22+%26+more", "", "", "",
			Found{"", []Result{
				{"Tutorial: Getting started with generics", "https://go.dev/doc/tutorial/generics", "With generics, you can declare & use functions … any of a set of types.", ""},
				{"An Introduction To Generics", "https://go.dev/blog/intro-generics", "Generics add three new big things. More ... later.", "2022-03-22"},
				{"Generics in anger", "https://blog.example.org/anger", "We tried them.", "2 days ago"}}}},
		"brave": {"brave.json", "GET", "/res/v1/web/search?count=3&q=go+%22generics%22+%26+more", "", "k-123", "",
			Found{"", []Result{
				{"Tutorial: Getting started with generics", "https://go.dev/doc/tutorial/generics", "Learn about generics in Go's docs.", "2023-10-02T12:00:00"},
				{"When To Use Generics", "https://go.dev/blog/when-generics", "When to use type parameters", "April 12, 2022"}}}},
		"searxng": {"searxng.json", "GET", "/search?format=json&q=go+%22generics%22+%26+more", "Bearer k-123", "", "",
			Found{"Generics are a way of writing code.", []Result{
				{"Generics in Go", "https://example.org/generics", "All about <T>.", "2024-05-01"},
				{"Second", "https://example.org/2", "", ""}}}},
		"duckduckgo": {"duckduckgo.html", "POST", "/html/", "", "", "b=&q=go+%22generics%22+%26+more",
			Found{"", []Result{
				{"Tutorial: Getting started with generics - The Go Programming Language", "https://go.dev/doc/tutorial/generics", "This tutorial introduces the basics of generics in Go. It's short.", "2025-12-30"},
				{"What is <T> & why", "https://example.org/t?a=1&b=2", "", ""}}}},
		"dashscope": {"dashscope.json", "POST", "/api/v1/indices/plugin/web_search", "Bearer k-123", "", `{"page":1,"rows":3,"uq":"go \"generics\" \u0026 more"}`,
			Found{"", []Result{
				{"Go 泛型教程", "https://example.cn/go", "泛型是 Go 1.18 的新特性。", "2022-03-16 10:00:00"},
				{"No date", "https://example.org/no-date", "", ""}}}},
	}
	if len(tests) != len(Types()) {
		t.Errorf("%d of %d engines are tested", len(tests), len(Types()))
	}
	for kind, x := range tests {
		s := &server{body: file(t, x.answer)}
		found, err := ask(t, config(kind), s, web.Options{})
		if diff := cmp.Diff(x.want, found); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", kind, err, diff)
		}
		if s.got.method != x.method || s.got.url != x.url || s.got.auth != x.auth || s.got.token != x.token || s.got.body != x.body {
			t.Errorf("%s was sent %+v", kind, s.got)
		}
	}
}

// The failures of each engine, in its own words.
func TestFailures(t *testing.T) {
	type kindOf string
	const limit, rejected, answer, nothing kindOf = "limit", "rejected", "answer", "nothing"
	for _, x := range []struct {
		engine string
		status int
		body   string
		want   kindOf
		said   string
	}{
		{"tavily", 401, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`, rejected, "missing or invalid"},
		{"tavily", 429, `{"detail":{"error":"Your request has been blocked due to excessive requests."}}`, limit, "excessive requests"},
		{"tavily", 432, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, limit, "usage limit"},
		{"tavily", 433, `{"detail":{"error":"This request exceeds the pay-as-you-go limit."}}`, limit, "pay-as-you-go"},
		{"tavily", 400, `{"detail":{"error":"Query is too long."}}`, answer, "400: Query is too long."},
		{"tavily", 200, `{"results":[]}`, nothing, ""},
		{"google", 429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Queries'","errors":[{"reason":"rateLimitExceeded"}],"status":"RESOURCE_EXHAUSTED"}}`, limit, "Quota exceeded"},
		{"google", 403, `{"error":{"code":403,"message":"Daily Limit","errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded"}]}}`, limit, "dailyLimitExceeded"},
		{"google", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, rejected, "API key not valid"},
		{"google", 403, `{"error":{"code":403,"message":"Custom Search API has not been used in project k-123 before"}}`, answer, "project … before"},
		{"google", 200, `{"kind":"customsearch#search","searchInformation":{"totalResults":"0"}}`, nothing, ""},
		{"brave", 422, `{"type":"ErrorResponse","error":{"id":"x","status":422,"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid."}}`, rejected, "SUBSCRIPTION_TOKEN_INVALID"},
		{"brave", 429, `{"type":"ErrorResponse","error":{"status":429,"code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan."}}`, limit, "RATE_LIMITED"},
		{"brave", 402, `{"error":{"code":"QUOTA_LIMITED"}}`, limit, "QUOTA_LIMITED"},
		{"brave", 200, `{"type":"search","web":{"results":[]}}`, nothing, ""},
		{"brave", 200, `{"type":"search"}`, nothing, ""},
		{"searxng", 403, "<!doctype html><title>403 Forbidden</title>", answer, "403: it doesn't return JSON. Enable the json format in search.formats"},
		{"searxng", 200, `{"results":[],"unresponsive_engines":["startpage",["brave","Suspended: too many requests"],["kagi"]]}`, answer, "startpage; brave Suspended: too many requests; kagi"},
		{"searxng", 200, `{"results":[{"title":7,"url":"https://e.org/","content":["odd"]}]}`, "found", ""},
		{"brave", 422, `{"type":"ErrorResponse","errors":[{"id":"5d","code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid.","status":422,"meta":{"component":"authentication"}}],"time":1663072993}`, rejected, "SUBSCRIPTION_TOKEN_INVALID"},
		{"brave", 404, `{"type":"ErrorResponse","errors":[{"code":"SUBSCRIPTION_NOT_FOUND","detail":"No subscription found.","status":404}],"time":1}`, rejected, "No subscription found"},
		{"brave", 429, `{"type":"ErrorResponse","errors":[{"code":"QUOTA_LIMITED","detail":"Request quota limit exceeded for plan.","status":429}],"time":1}`, limit, "QUOTA_LIMITED"},
		{"brave", 422, `{"type":"ErrorResponse","error":{"code":"VALIDATION","detail":"Unable to validate request parameter(s)","status":422,"meta":{"errors":[{"loc":["query","q"]}]}}}`, answer, "VALIDATION"},
		{"google", 429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'customsearch.googleapis.com'","status":"RESOURCE_EXHAUSTED"}}`, limit, "Queries per day"},
		{"tavily", 403, `{"detail":{"error":"This URL is not supported."}}`, answer, "403"},
		{"tavily", 422, `{"detail":[{"loc":["body","query"],"msg":"field required","type":"value_error.missing"}]}`, answer, "field required"},
		{"duckduckgo", 202, file(t, "duckduckgo_check.html"), limit, "it shows a CAPTCHA"},
		{"duckduckgo", 200, file(t, "duckduckgo_check.html"), limit, "it shows a CAPTCHA"},
		{"duckduckgo", 200, file(t, "duckduckgo_none.html"), nothing, ""},
		{"searxng", 429, "Too Many Requests", limit, ""},
		{"searxng", 200, "<!doctype html><html>", answer, "search.formats"},
		{"searxng", 200, `{"results":[],"unresponsive_engines":[["google","timeout"],["bing","CAPTCHA"]]}`, answer, "google"},
		{"searxng", 200, `{"results":[]}`, nothing, ""},
		{"duckduckgo", 202, `<form id="challenge-form"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>`, limit, ""},
		{"duckduckgo", 200, `<div class="anomaly-modal__mask">`, limit, ""},
		{"duckduckgo", 403, "", limit, ""},
		{"duckduckgo", 200, `<div id="links"><div class="no-results">No results.</div></div>`, nothing, ""},
		{"duckduckgo", 200, `<html><body>A new design</body></html>`, answer, "page format changed"},
		{"dashscope", 401, `{"code":"InvalidApiKey","message":"Invalid API-key provided.","request_id":"x"}`, rejected, "Invalid API-key"},
		{"dashscope", 400, `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded"}`, limit, "Throttling"},
		{"dashscope", 200, `{"status":500,"message":"backend busy","success":false}`, answer, "backend busy"},
		{"dashscope", 200, `{"status":0,"data":{"docs":[]}}`, nothing, ""},
		{"dashscope", 200, `{"status":0,"data":{"docs":[{"title":"Throttling","url":"ftp://x/"}]}}`, nothing, ""},
		{"tavily", 200, `{"results":"what"}`, answer, "unexpected response"},
		{"google", 200, "", answer, "expected a JSON object"},
		{"brave", 500, "\x00\xff" + strings.Repeat("<b>oops</b> ", 9999), answer, "500"},
		{"tavily", 302, "", answer, "redirects"},
		{"tavily", 200, "<html><title>Hotel</title><h1>Please log in</h1></html>", answer, "an HTML page, perhaps from a gateway, that begins with \"HotelPlease log in\""},
		{"brave", 200, "null", answer, `expected a JSON object, got "null"`},
		{"google", 200, "[1,2]", answer, `expected a JSON object, got "[1,2]"`}, // it used to spell out a Go type
		{"dashscope", 200, `{"data":7}`, answer, "unexpected response: data is a JSON number"},
	} {
		s := &server{status: x.status, body: x.body, header: map[string]string{"Retry-After": "30", "Location": "https://evil.example/?steal"}}
		found, err := ask(t, config(x.engine), s, web.Options{})
		var l *LimitError
		var r *RejectedError
		got := answer
		switch {
		case err == nil && len(found.Results) == 0:
			got = nothing
		case err == nil:
			got = "found"
		case errors.As(err, &l):
			got = limit
			if l.RetryAfter != "30 seconds" {
				t.Errorf("%s %d: retry after %q", x.engine, x.status, l.RetryAfter)
			}
		case errors.As(err, &r):
			got = rejected
		}
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != x.want || !strings.Contains(said, x.said) || strings.Contains(said, "k-123") || len(said) > 500 {
			t.Errorf("%s %d %.60s: got %s, %q", x.engine, x.status, x.body, got, said)
		}
	}
}

func TestKeysAndConfigs(t *testing.T) {
	for _, x := range []struct {
		config Config
		want   string
	}{
		{Config{Type: "tavily"}, "TAVILY_API_KEY"}, {Config{Type: "brave"}, "BRAVE_API_KEY"}, {Config{Type: "dashscope"}, "DASHSCOPE_API_KEY"},
		{Config{Type: "google", SearchEngineID: "x"}, "GOOGLE_API_KEY"}, {Config{Type: "google", APIKey: "x"}, "GOOGLE_SEARCH_ENGINE_ID"}, {Config{Type: "searxng"}, "SEARXNG_URL"},
	} {
		e, err := New(x.config, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Search(t.Context(), Query{Text: "x"})
		var key *KeyError
		if !errors.As(err, &key) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v", x.config, err)
		}
	}
	if _, err := New(Config{Type: "altavista"}, web.Options{}); err == nil || !strings.Contains(err.Error(), "available: brave, dashscope, duckduckgo, google, searxng, tavily") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"not a url", "ftp://x/", "http://u:p@x/"} {
		if _, err := New(Config{Type: "brave", BaseURL: bad}, web.Options{}); err == nil {
			t.Errorf("the base URL %s passes", bad)
		}
	}
	e, err := New(Config{Type: " Brave ", BaseURL: "http://127.0.0.1:9/proxy/"}, web.Options{})
	if err != nil || e.Name() != "brave" || e.Host() != "127.0.0.1:9" {
		t.Errorf("got %+v, %v", e, err)
	}
	if target, err := e.at("/res", nil); err != nil || target.String() != "http://127.0.0.1:9/proxy/res" {
		t.Errorf("got %s, %v", target, err)
	}
}

// A server that never ends costs no more than the limit of time and size.
func TestBounds(t *testing.T) {
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat(`{"results":[`, 1000)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	stalled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer stalled.Close()
	for _, c := range []struct {
		url, want string
		limit     time.Duration
	}{{endless.URL, "longer than", 5 * time.Minute}, {stalled.URL, "timed out", 200 * time.Millisecond}} {
		e, err := New(Config{Type: "searxng", BaseURL: c.url}, web.Options{Timeout: c.limit, MaxBody: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Search(t.Context(), Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// Brave takes 50 words at most.
func TestBraveWords(t *testing.T) {
	e, err := New(config("brave"), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.kind.request(e, Query{Text: strings.Repeat("w ", 60), Limit: 3})
	if got := strings.Count(x.Target.String(), "w"); err != nil || got != 50+strings.Count("web", "w") {
		t.Errorf("%d words are asked for: %s, %v", got, x.Target, err)
	}
}

// For any response of an engine, the result is bounded and can be fetched.
func FuzzAnswers(f *testing.F) {
	for _, name := range []string{"tavily.json", "google.json", "brave.json", "searxng.json", "duckduckgo.html", "duckduckgo_check.html", "duckduckgo_none.html", "dashscope.json"} {
		body, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, 200)
	}
	f.Add([]byte(`{"results":[{"url":7}],"error":{"errors":[{"code":[]}]}}`), 429)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		for _, kind := range Types() {
			c := config(kind)
			c.BaseURL = "https://search.example"
			e, err := New(c, web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := &web.Answer{Status: status, Header: http.Header{}, Body: body}
			if err := e.failure(a); err != nil {
				if len(err.Error()) > 2000 || strings.Contains(err.Error(), c.APIKey) {
					t.Errorf("%s: %q", kind, err)
				}
				continue
			}
			found, err := e.kind.read(a)
			if err != nil {
				continue
			}
			found = tidy(found, 5)
			if len(found.Results) > 5 {
				t.Errorf("%s: %d results", kind, len(found.Results))
			}
			for _, r := range found.Results {
				if _, err := web.Parse(r.URL); err != nil || strings.ContainsAny(r.Title+r.Snippet+r.Date, "\n\r") || len(r.Title) > 1000 || len(r.Snippet) > 2500 || r.Title == "" {
					t.Errorf("%s: %+v, %v", kind, r, err)
				}
			}
		}
	})
}
