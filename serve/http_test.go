package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

const token = "0123456789abcdef0123"

type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

func serveHTTP(t *testing.T) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- New(Options{Session: testSession}).HTTP(ctx, "127.0.0.1:0", token, func(url string) { at <- url })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
	})
	return <-at
}

func TestHTTP(t *testing.T) {
	url := serveHTTP(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept"}, nil
	}})
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{transport}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit"})
	if err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
}

// Each connection has its own session, which ends with it. Clients of versions without sessions share one, which ends with
// the server.
func TestSessionsOverHTTP(t *testing.T) {
	var mu sync.Mutex
	begun, ended := 0, 0
	s := New(Options{Session: func(c Client) (*tool.Executor, func(), error) {
		mu.Lock()
		defer mu.Unlock()
		begun++
		x, _, err := testSession(c)
		return x, func() {
			mu.Lock()
			defer mu.Unlock()
			ended++
		}, err
	}})
	ctx, cancel := context.WithCancel(context.Background())
	at, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- s.HTTP(ctx, "127.0.0.1:0", token, func(url string) { at <- url }) }()
	url := <-at
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	connect := func(version string) *mcp.ClientSession {
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{transport}}},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil {
				t.Error(err)
			}
		}
		return cs
	}
	check := func(wantBegun, wantEnded int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if begun != wantBegun || ended != wantEnded {
			t.Errorf("%d begun, %d ended, want %d, %d", begun, ended, wantBegun, wantEnded)
		}
	}
	first, second := connect("2025-11-25"), connect("2025-11-25")
	check(2, 0)
	connect(modernVersion).Close()
	connect(modernVersion).Close()
	check(3, 0)
	first.Close()
	waittest.Until(t, "the first session ends", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return ended > 0
	})
	check(3, 1)
	cancel()
	<-done
	check(3, 3)
	second.Close()
}

func TestGuard(t *testing.T) {
	url := serveHTTP(t)
	for _, c := range []struct {
		name string
		edit func(*http.Request)
		want int
	}{
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"another token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		{"the token without a scheme", func(r *http.Request) { r.Header.Set("Authorization", token) }, 401},
		{"a scheme in lower case", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }, 200},
		{"another host", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"a host that begins like ours", func(r *http.Request) { r.Host = "localhost.evil.example:80" }, 403},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"no origin", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"all right", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }, 200},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+token)
		c.edit(req)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode != c.want {
			t.Errorf("%s: %v %v", c.name, resp, err)
		}
		if err == nil {
			resp.Body.Close()
		}
		cancel()
	}
	s := New(Options{Session: testSession})
	if err := s.HTTP(t.Context(), "0.0.0.0:0", token, nil); err == nil || !strings.Contains(err.Error(), "only loopback addresses") {
		t.Error(err)
	}
	if err := s.HTTP(t.Context(), "127.0.0.1:0", "short", nil); err == nil {
		t.Error("a short token is taken")
	}
}

// Every POST used to leak a context and a server, with a session or without: 0.7 KB each.
func TestPostsLeaveNothingBehind(t *testing.T) {
	serial.Test(t)
	var sessions atomic.Int64
	handler := New(Options{Session: func(c Client) (*tool.Executor, func(), error) {
		sessions.Add(1)
		return testSession(c)
	}}).Handler(t.Context())
	version := ""
	post := func(session, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if version != "" {
			req.Header.Set("Mcp-Protocol-Version", version)
			req.Header.Set("Mcp-Method", "server/discover")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w
	}
	begun := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	session := begun.Header().Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("%d %s", begun.Code, begun.Body)
	}
	posts := map[string]func() *httptest.ResponseRecorder{
		"in a session":    func() *httptest.ResponseRecorder { return post(session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`) },
		"without one":     func() *httptest.ResponseRecorder { return post("", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) },
		"of one unknown":  func() *httptest.ResponseRecorder { return post("gone", `{"jsonrpc":"2.0","id":1,"method":"ping"}`) },
		"that is no JSON": func() *httptest.ResponseRecorder { return post("", "{") },
	}
	many := int64(soak.Count(2000, 10_000))
	for name, one := range posts {
		for range 100 { // what is made once is made
			one()
		}
		before := heap()
		for range many {
			one()
		}
		if each := (heap() - before) / many; each >= 100 {
			t.Errorf("a POST %s leaves %d bytes behind", name, each)
		}
	}
	if n := sessions.Load(); n != 0 {
		t.Errorf("%d sessions were begun", n)
	}
	version = modernVersion
	const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	discover := func() *httptest.ResponseRecorder {
		return post("", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{`+meta+`}}}`)
	}
	if w := discover(); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"resultType":"complete"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	before := heap()
	for range many {
		discover()
	}
	if each := (heap() - before) / many; each >= 100 {
		t.Errorf("a POST without sessions leaves %d bytes behind", each)
	}
	version = ""
	req := httptest.NewRequest(http.MethodDelete, "/mcp", nil)
	req.Header.Set("Mcp-Session-Id", session)
	handler.ServeHTTP(httptest.NewRecorder(), req)
}

// heap returns how much memory is reachable.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
