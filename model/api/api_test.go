package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// echo is an adapter as small as one can be: each event is a text, and "end" is the last one.
type echo struct {
	out *api.Output
	end bool
}

func (e *echo) Event(data []byte) (bool, error) {
	if string(data) == "end" {
		e.end = true
		return true, nil
	}
	if strings.HasPrefix(string(data), "{") {
		return false, api.StreamError(data)
	}
	return false, e.out.Emit(model.Text(data))
}
func (e *echo) Body(data []byte) error { return e.out.Emit(model.Text(data)) }
func (e *echo) Complete() bool         { return e.end }
func (e *echo) Finish() error          { return e.out.Emit(model.End{Reason: model.Stop}) }
func (e *echo) Salvage() error         { return nil }

// server answers each request with the next handler, and the last one again.
type server struct {
	*httptest.Server
	paths  []string
	bodies []string
}

func serve(t *testing.T, answers ...http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := len(s.paths)
		s.paths = append(s.paths, r.URL.RequestURI())
		s.bodies = append(s.bodies, string(body))
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "data: %s\n\ndata: end\n\n", text)
	}
}

func fails(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// ask opens a client and returns the answer's text, the retries and the error.
func ask(t *testing.T, o api.Options, a api.API, x api.Exchange) (string, []string, error) {
	t.Helper()
	o.Retry.First = cmpOr(o.Retry.First, time.Millisecond)
	a.Name = "echo"
	if a.Header == nil {
		a.Header = func(key string) http.Header { return http.Header{"X-Key": {key}} }
	}
	c, err := api.New(o, a)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x.Path = "/say?alt=sse"
	if x.Encode == nil {
		x.Encode = func() ([]byte, error) { return []byte(`{"a":1}`), nil }
	}
	x.Decode = func(out *api.Output) api.Decoder { return &echo{out: out} }
	var text string
	var retries []string
	for e, err := range c.Stream(t.Context(), x) {
		if err != nil {
			return text, retries, err
		}
		switch e := e.(type) {
		case model.Text:
			text += string(e)
		case model.Retry:
			retries = append(retries, e.String())
		}
	}
	return text, retries, nil
}

func cmpOr(a, b time.Duration) time.Duration {
	if a != 0 {
		return a
	}
	return b
}

// A base URL works with the version path and without it.
func TestVersionPath(t *testing.T) {
	none := fails(404, "404 page not found")
	for _, tt := range []struct {
		name, path string
		a          api.API
		answers    []http.HandlerFunc
		want       []string
	}{
		{"as it is", "/v1", api.API{Version: "/v1", TryPlain: true}, []http.HandlerFunc{says("a")}, []string{"/v1/say?alt=sse"}},
		{"a version in the middle", "/v1beta/openai/", api.API{Version: "/v1"}, []http.HandlerFunc{says("a")}, []string{"/v1beta/openai/say?alt=sse"}},
		{"added", "", api.API{Version: "/v1beta"}, []http.HandlerFunc{says("a")}, []string{"/v1beta/say?alt=sse"}},
		{"added after a 404", "/", api.API{Version: "/v1", TryPlain: true}, []http.HandlerFunc{none, says("a")}, []string{"/say?alt=sse", "/v1/say?alt=sse"}},
		{"removed after a 404", "/proxy", api.API{Version: "/v1"}, []http.HandlerFunc{none, says("a")}, []string{"/proxy/v1/say?alt=sse", "/proxy/say?alt=sse"}},
		{"added after a page", "", api.API{Version: "/v1", TryPlain: true}, []http.HandlerFunc{fails(200, "<html>"), says("a")}, []string{"/say?alt=sse", "/v1/say?alt=sse"}},
		{"added after LM Studio's words", "", api.API{Version: "/v1", TryPlain: true},
			[]http.HandlerFunc{fails(200, "data: {\"message\":\"Unexpected endpoint or method. (POST /say)\"}\n\n"), says("a")}, []string{"/say?alt=sse", "/v1/say?alt=sse"}},
		{"a query is kept", "/v1?api-version=3", api.API{Version: "/v1"}, []http.HandlerFunc{says("a")}, []string{"/v1/say?api-version=3&alt=sse"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answers...)
			text, _, err := ask(t, api.Options{BaseURL: s.URL + tt.path}, tt.a, api.Exchange{})
			if err != nil || text != "a" || !slices.Equal(s.paths, tt.want) {
				t.Errorf("%q, %v after %q", text, err, s.paths)
			}
		})
	}
	s := serve(t, none)
	_, _, err := ask(t, api.Options{BaseURL: s.URL}, api.API{Version: "/v1", TryPlain: true}, api.Exchange{})
	if err == nil || !strings.Contains(err.Error(), "(it usually ends in /v1)") || len(s.paths) != 2 {
		t.Errorf("got %v after %q", err, s.paths)
	}
}

// All attempts share one budget, also those after a change of the request.
func TestRetriesNeverMultiply(t *testing.T) {
	learned := 0
	learn := func(f *api.Failure) bool { learned++; return f.Rejected() }
	for _, tt := range []struct {
		name string
		a    http.HandlerFunc
		want int
	}{
		{"a server error", fails(500, ""), 3},
		{"busy", fails(429, ""), 5},
		{"rejected each time", fails(400, ""), 9},
		{"an error in the stream", fails(200, "data: {\"message\":\"busy\",\"type\":\"overloaded_error\"}\n\n"), 5},
		{"a quota", fails(429, `{"error":{"message":"Limit of tokens per day reached"}}`), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.a)
			_, _, err := ask(t, api.Options{BaseURL: s.URL, Retry: api.Retry{Times: 2, Most: 4}}, api.API{}, api.Exchange{Learn: learn})
			if err == nil || len(s.paths) != tt.want {
				t.Errorf("%v after %d requests, want %d", err, len(s.paths), tt.want)
			}
		})
	}
}

// A change of the request that Learn has a note for is reported, and the request is sent again at once.
func TestLearnReports(t *testing.T) {
	body := `{"signature":"x"}`
	s := serve(t, fails(400, `{"error":{"message":"invalid signature"}}`), says("a"))
	text, retries, err := ask(t, api.Options{BaseURL: s.URL}, api.API{}, api.Exchange{
		Encode: func() ([]byte, error) { return []byte(body), nil },
		Learn: func(f *api.Failure) bool {
			body, f.Note = `{}`, errors.New("the server rejected a signature")
			return f.Rejected() && strings.Contains(f.Message, "signature")
		},
	})
	if err != nil || text != "a" || !slices.Equal(retries, []string{"the server rejected a signature, retrying (attempt 2)"}) || s.bodies[1] != "{}" {
		t.Errorf("%q, %v after %q and %q", text, err, retries, s.bodies)
	}
}

// An error has no key, even if the server repeats it; and a redirect to another server doesn't get it.
func TestKeyIsHidden(t *testing.T) {
	const key = "sk-very-secret"
	elsewhere := serve(t, says("a"))
	for name, a := range map[string]http.HandlerFunc{
		"repeated":    fails(401, `{"error":{"message":"Incorrect API key: `+key+`"}}`),
		"in a stream": fails(200, "data: {\"message\":\"no access for "+key+"\",\"code\":401}\n\n"),
		"in a retry":  fails(500, key),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/"+key, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, a)
			o := api.Options{BaseURL: strings.Replace(s.URL, "http://", "http://me:pass-word@", 1) + "?key=query-secret", Key: key, KeyName: "MY_KEY",
				Headers: map[string]string{"X-More": "Bearer header-secret"}}
			_, retries, err := ask(t, o, api.API{}, api.Exchange{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range append(retries, err.Error(), fmt.Sprintf("%+v", err)) {
				for _, secret := range []string{key, "pass-word", "query-secret", "header-secret"} {
					if strings.Contains(text, secret) {
						t.Errorf("%q has %q", text, secret)
					}
				}
			}
			if name == "repeated" && (!errors.Is(err, model.ErrCredentials) || !strings.Contains(err.Error(), "MY_KEY")) {
				t.Errorf("got %v", err)
			}
		})
	}
	if len(elsewhere.paths) > 0 {
		t.Errorf("the other server got %q", elsewhere.paths)
	}
}

func TestExtraIsMerged(t *testing.T) {
	s := serve(t, says("a"))
	extra := map[string]json.RawMessage{"b": json.RawMessage(`{"d":2}`), "e": json.RawMessage(`"<"`)}
	_, _, err := ask(t, api.Options{BaseURL: s.URL, Extra: extra}, api.API{}, api.Exchange{
		Encode: func() ([]byte, error) { return []byte(`{"a":[1],"b":{"c":1,"d":1}}`), nil },
	})
	if want := `{"a":[1],"b":{"c":1,"d":2},"e":"<"}`; err != nil || s.bodies[0] != want {
		t.Errorf("sent %s, %v", s.bodies[0], err)
	}
}

func TestUnknownModelHasCloseNames(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5-minni": "Did you mean gpt-5-mini?",
		"llama":       "Available: gpt-5, gpt-5-mini.",
	} {
		s := serve(t, fails(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`),
			fails(200, `{"data":[{"id":"gpt-5"},{"id":"gpt-5-mini"}]}`))
		_, _, err := ask(t, api.Options{BaseURL: s.URL, Model: name}, api.API{Models: "/models"}, api.Exchange{})
		if !errors.Is(err, model.ErrUnknownModel) || !strings.HasSuffix(err.Error(), "\n"+want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestModels(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"id":"a/b:c","context_length":5},{"id":""},{"id":"d","max_model_len":7}]}`:                                                                                                "[{a/b:c 5} {d 7}]",
		`{"models":[{"name":"models/gemini-x","inputTokenLimit":9,"supportedGenerationMethods":["generateContent"]},{"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}`: "[{gemini-x 9}]",
		`{"models":[{"name":"x","model":"x"}],"data":[{"id":"x","meta":{"n_ctx_train":3}}]}`:                                                                                                 "[{x 3}]",
	} {
		s := serve(t, fails(200, body))
		c, err := api.New(api.Options{BaseURL: s.URL}, api.API{Models: "/models"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Models(t.Context())
		if got := fmt.Sprint(list); err != nil || got != want {
			t.Errorf("%s: %v, %v", body, got, err)
		}
		c.Close()
	}
}

func TestTLSErrors(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(says("a"))
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	plain := serve(t, says("a"))
	for url, want := range map[string]string{
		untrusted.URL: "SSL_CERT_FILE",
		strings.Replace(plain.URL, "http:", "https:", 1): "Use a base URL with http://.",
	} {
		_, retries, err := ask(t, api.Options{BaseURL: url}, api.API{}, api.Exchange{})
		if !errors.Is(err, model.ErrUnreachable) || !strings.Contains(err.Error(), want) || len(retries) > 0 {
			t.Errorf("%s: %v after %q", url, err, retries)
		}
	}
}

func TestEffortIsNamed(t *testing.T) {
	s := serve(t, fails(400, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'max'"}}`))
	_, _, err := ask(t, api.Options{BaseURL: s.URL}, api.API{}, api.Exchange{Effort: "max"})
	if err == nil || !strings.HasSuffix(err.Error(), "\nThe model doesn't accept effort \"max\". Use another value for --effort, or none.") {
		t.Errorf("got %v", err)
	}
}

func TestIDsAndNames(t *testing.T) {
	for in, want := range map[string]string{"call_1-a": "call_1-a", "functions.read:0": "call_", "": "call_", strings.Repeat("x", 65): "call_"} {
		if got := api.ID(in); !strings.HasPrefix(got, want) || len(got) > 64 || got != api.ID(in) || got == "call_" {
			t.Errorf("ID(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{"read_file": "read_file", "a.b/ä": "a_b__", "": "unknown"} {
		if got := api.Name(in); got != want {
			t.Errorf("Name(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{`{"a":1}`: `{"a":1}`, `{"a":1,}`: `{"a":1}`, ``: `{}`, `[1]`: `{}`, `{"a`: `{}`} {
		if got := api.Arguments(json.RawMessage(in)); string(got) != want {
			t.Errorf("Arguments(%s) = %s", in, got)
		}
	}
}

func TestCancelStopsARequest(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c, err := api.New(api.Options{BaseURL: s.URL}, api.API{Models: "/models"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Models(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
