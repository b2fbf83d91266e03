package discover

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// A server that needs a login is reported, and no login starts in a non-interactive session.
func TestLoginNeeded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	d := open(t, map[string]Server{"a": {HTTPURL: server.URL}, "b": {URL: server.URL}}, Options{State: t.TempDir()})
	err := d.Wait(t.Context())
	for _, want := range []string{"a: login required: run 'adze mcp login a'", "b: login required: run 'adze mcp login b'"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err := d.Logout(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "not logged in") {
		t.Error(err)
	}
}

// Headers are only sent to the configured server.
func TestHeadersOnlyForServer(t *testing.T) {
	var stolen string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("X-Key") }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	d := open(t, map[string]Server{"a": {HTTPURL: server.URL, Headers: map[string]string{"X-Key": "secret", "Authorization": "Bearer x"}}}, Options{})
	if err := d.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the server redirects to") || stolen != "" {
		t.Errorf("%v, stolen %q", err, stolen)
	}
}

// An endless answer over HTTP is cut off.
func TestEndlessHTTPAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID json.RawMessage }
		json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"x":"`, m.ID)
		piece := strings.Repeat("x", 1<<20)
		for range 200 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	d := open(t, map[string]Server{"a": {HTTPURL: server.URL}}, Options{})
	if err := d.Wait(t.Context()); err == nil {
		t.Error("an endless answer was taken")
	}
	if peak := peakMB(); peak > 200 && !plainadze.RaceEnabled {
		t.Errorf("peak RSS %d MB", peak)
	}
}

// guarded is an MCP server behind a login: it doesn't announce where to log in, and its tokens expire on demand.
type guarded struct {
	mu        sync.Mutex
	challenge string // of the last login
	valid     string
	logins    int
	refreshes int
	mcp, sse  http.Handler
	slowly    chan struct{} // until then, requests without a token get no answer; nil: at once
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	valid := g.valid
	g.mu.Unlock()
	switch r.URL.Path {
	case "/mcp", "/sse":
		if valid == "" || r.Header.Get("Authorization") != "Bearer "+valid {
			if body, _ := io.ReadAll(r.Body); g.slowly != nil && strings.Contains(string(body), `"initialize"`) {
				<-g.slowly
			}
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/sse" {
			g.sse.ServeHTTP(w, r)
			return
		}
		g.mcp.ServeHTTP(w, r)
	case "/login":
		g.mu.Lock()
		g.challenge = r.URL.Query().Get("code_challenge")
		g.mu.Unlock()
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?code=c&state="+url.QueryEscape(r.URL.Query().Get("state")), http.StatusFound)
	case "/token":
		g.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (g *guarded) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.ParseForm()
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
			http.Error(w, `{"error":"invalid_grant"}`, 400)
			return
		}
		g.logins++
	case "refresh_token":
		g.refreshes++
	}
	g.valid = fmt.Sprintf("token-%d-%d", g.logins, g.refreshes)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"refresh_token":"r","token_type":"Bearer","expires_in":3600}`, g.valid)
}

// A login while the server is being started without one succeeds.
func TestLoginDuringAStart(t *testing.T) {
	t.Parallel()
	m := mcp.NewServer(&mcp.Implementation{Name: "guarded"}, nil)
	g := &guarded{slowly: make(chan struct{}), mcp: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &mcp.StreamableHTTPOptions{Stateless: true})}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var wg sync.WaitGroup
	defer wg.Wait()
	d := open(t, map[string]Server{"g": {HTTPURL: server.URL + "/mcp", OAuth: &OAuth{
		ClientID: "me", AuthorizationURL: server.URL + "/login", TokenURL: server.URL + "/token",
	}}}, Options{State: t.TempDir(), OpenURL: func(address string) error {
		wg.Go(func() {
			if resp, err := browser.Get(address); err == nil {
				resp.Body.Close()
			}
			time.AfterFunc(100*time.Millisecond, func() { close(g.slowly) })
		})
		return nil
	}})
	go d.Wait(t.Context())
	waittest.Until(t, "the server starts", func() bool { return d.List()[0].State == Starting })
	if err := d.Login(t.Context(), "g"); err != nil {
		t.Error(err)
	}
}

// A login with configured URLs is saved for the next session, and a token that the server rejects is refreshed without a new
// login.
func TestLoginIsKeptAndRefreshed(t *testing.T) {
	t.Parallel()
	m := mcp.NewServer(&mcp.Implementation{Name: "guarded"}, nil)
	mcp.AddTool(m, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	old := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return m }, nil)
	g := &guarded{sse: old, mcp: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &mcp.StreamableHTTPOptions{Stateless: true})}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var wg sync.WaitGroup
	defer wg.Wait()
	opt := Options{State: t.TempDir(), OpenURL: func(address string) error {
		wg.Go(func() {
			if resp, err := browser.Get(address); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
		return nil
	}}
	conf := map[string]Server{"g": {HTTPURL: server.URL + "/mcp", OAuth: &OAuth{
		ClientID: "me", AuthorizationURL: server.URL + "/login", TokenURL: server.URL + "/token",
	}}}
	d := open(t, conf, opt)
	if err := d.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "adze mcp login") {
		t.Fatal(err)
	}
	if err := d.Login(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	if o := d.call(t.Context(), "g__hello", `{}`); o.Result.Text() != "hello" {
		t.Errorf("%+v", o)
	}
	d.Servers.Close()
	os.RemoveAll(opt.State + "/manifests")
	g.mu.Lock()
	g.valid = "gone"
	g.mu.Unlock()
	d = open(t, conf, opt)
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := d.call(t.Context(), "g__hello", `{}`); o.Result.Text() != "hello" || g.logins != 1 || g.refreshes != 1 {
		t.Errorf("%+v after %d logins and %d refreshes", o, g.logins, g.refreshes)
	}
	if err := d.Logout(t.Context(), "g"); err != nil {
		t.Error(err)
	}
	d.Servers.Close()

	// The same over server-sent events, whose transport knows nothing of logins.
	conf["g"] = Server{URL: server.URL + "/sse", OAuth: conf["g"].OAuth}
	d = open(t, conf, opt)
	if err := d.Login(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.valid = "gone"
	g.mu.Unlock()
	if err := d.Reconnect(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	if o := d.call(t.Context(), "g__hello", `{}`); o.Result.Text() != "hello" || g.logins != 2 || g.refreshes != 2 {
		t.Errorf("%+v after %d logins and %d refreshes", o, g.logins, g.refreshes)
	}
}
