package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/tool"
)

// pipe is a server in the same program, which answers each call at once.
type pipe struct {
	in     chan json.RawMessage
	closed chan struct{}
}

func (p *pipe) Send(_ context.Context, message json.RawMessage) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hello"}]}`,
	}[m.Method]
	if result != "" {
		p.in <- json.RawMessage(`"noise"`) // not a message, so it is skipped
		p.in <- json.RawMessage(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
	}
	return nil
}

func (p *pipe) Receive(ctx context.Context) (json.RawMessage, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

// A dialed server works like any other. Its lists aren't stored for the next session.
func TestDialedServer(t *testing.T) {
	state := t.TempDir()
	registry := tool.NewRegistry()
	servers := Open(map[string]Server{"own": {Dial: func() Messages {
		return &pipe{in: make(chan json.RawMessage, 10), closed: make(chan struct{})}
	}}}, Options{Registry: registry, State: state})
	defer servers.Close()
	if err := servers.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := tool.Executor{Registry: registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	b := x.Batch(t.Context())
	b.Add(tool.Call{Name: "own__echo", Args: json.RawMessage(`{}`)})
	if o := b.Wait()[0]; o.Status != tool.StatusSuccess || o.Result.Text() != "hello" {
		t.Errorf("%+v", o)
	}
	if st := servers.List()[0]; st.Transport != "sdk" || !strings.Contains(st.Target, "drives this session") || st.State != Ready {
		t.Errorf("%+v", st)
	}
	for _, dir := range []string{"manifests", "late"} {
		if entries, err := os.ReadDir(state + "/" + dir); err == nil && len(entries) > 0 {
			t.Errorf("%s has %d files", dir, len(entries))
		}
	}
}

// The response of a URL that isn't a server used to be reported in the SDK's words: connection closed: calling "initialize":
// client is closing: sending "server/discover": unsupported content type "text/html".
func TestURLsThatAreNotServers(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>hello</html>")
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"hello":1}`)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: ping\ndata: {}\n\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer web.Close()
	servers := map[string]Server{}
	want := map[string]string{
		"html":   "URL/html is not an MCP server (got content type text/html)",
		"json":   "URL/json is not an MCP server (got JSON that is not a message)",
		"broken": "URL/broken returned 500 Internal Server Error",
		"gone":   "URL/gone returned 404 Not Found. Is that the address of an MCP server?",
		"events": "URL/events closed the first request without a response",
	}
	for name := range want {
		servers[name] = Server{HTTPURL: web.URL + "/" + name}
	}
	servers["sse"] = Server{URL: web.URL + "/html"}
	want["sse"] = "URL/html is not an MCP server with SSE transport. For streamable HTTP, use httpUrl"
	d := open(t, servers, Options{})
	d.Wait(t.Context())
	for _, st := range d.List() {
		if w := strings.ReplaceAll(want[st.Alias], "URL", web.URL); st.Err == nil || st.Err.Error() != w {
			t.Errorf("%s: %v, want %s", st.Alias, st.Err, w)
		}
	}
}

// The SDK randomly returns the actual error or the end of the connection.
func TestURLsThatAreNotServersAtRandom(t *testing.T) {
	closed := fmt.Errorf("%w: calling %q: client is closing: EOF", mcp.ErrConnectionClosed, "initialize")
	for want, got := range map[string]answer{
		"http://h/x is not an MCP server (got content type text/html)":             {200, "text/html"},
		"http://h/x is not an MCP server (got content type none)":                  {200, ""},
		"http://h/x is not an MCP server (got JSON that is not a message)":         {200, "application/json"},
		"http://h/x closed the first request without a response":                   {200, "text/event-stream"},
		"http://h/x returned 404 Not Found. Is that the address of an MCP server?": {404, "text/plain"},
	} {
		sent := &dressed{}
		sent.last.Store(&got)
		l := &link{conf: Server{HTTPURL: "http://h/x"}}
		if err := l.webError(&http.Client{Transport: sent}, closed); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// adze mcp list used to show keys in variables and passwords in URLs.
func TestTargetHasNoSecret(t *testing.T) {
	known := func(string) (string, bool) { return "secret", true }
	for want, s := range map[string]Server{
		"srv --key '$KEY' 'a b'":           {Command: "srv", Args: []string{"--key", "$KEY", "a b"}},
		"https://x.example/mcp?key=${KEY}": {HTTPURL: "https://x.example/mcp?key=${KEY}"},
		"https://me:xxxxx@x.example/mcp":   {URL: "https://me:secret@x.example/mcp"},
	} {
		if got := s.Expand(known).Target(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A progress notification restarts a call's time limit.
func TestProgressRestartsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		ctx, limit := withDeadline(t.Context(), time.Minute)
		defer limit.end()
		run := s.begin(&running{ctx: ctx, limit: limit})
		for i := range 5 {
			time.Sleep(59 * time.Second)
			s.progress(ctx, &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: run.token}})
			if ctx.Err() != nil {
				t.Fatalf("stopped after %d notifications: %v", i, context.Cause(ctx))
			}
		}
		time.Sleep(59 * time.Second)
		s.progress(ctx, &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: "another call"}})
		time.Sleep(time.Second)
		synctest.Wait()
		if context.Cause(ctx) != errIdle {
			t.Errorf("after a minute without progress: %v", context.Cause(ctx))
		}
	})
}

// A call's time limit does not run while the user is asked.
func TestQuestionPausesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		ctx, limit := withDeadline(t.Context(), time.Minute)
		defer limit.end()
		ask := func(context.Context, tool.Invocation) (tool.Decision, error) {
			time.Sleep(time.Hour)
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		s.begin(&running{ctx: ctx, limit: limit, live: &tool.Live{Ask: ask}})
		for range 2 {
			time.Sleep(59 * time.Second)
			if _, d, err := s.ask(t.Context(), tool.Invocation{}); err != nil || d.Verdict != tool.Allow || ctx.Err() != nil {
				t.Fatalf("%+v, %v, %v", d, err, context.Cause(ctx))
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if context.Cause(ctx) != errIdle {
			t.Errorf("a minute after the answer: %v", context.Cause(ctx))
		}
	})
}

// A server that reports several changes at once is asked for its tools once.
func TestChangesAreListedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "changing"}, &mcp.ServerOptions{HasTools: true})
		var lists atomic.Int32
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, r)
			}
		})
		here, there := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := Open(nil, Options{})
		l := &link{set: set, life: t.Context(), opt: &set.opt, log: stdio.NewLog("")}
		s := &session{link: l}
		s.client = mcp.NewClient(&mcp.Implementation{Name: "adze"}, s.options())
		if s.cs, err = s.client.Connect(t.Context(), here, nil); err != nil {
			t.Fatal(err)
		}
		l.session = s
		for want := range int32(3) {
			for range 4 {
				l.changed()
				time.Sleep(debounce - 1)
			}
			if got := lists.Load(); got != want {
				t.Errorf("listed %d times while changes were reported, want %d", got, want)
			}
			time.Sleep(debounce)
			synctest.Wait()
			if got := lists.Load(); got != want+1 {
				t.Errorf("listed %d times, want %d", got, want+1)
			}
		}
		s.cs.Close()
		ss.Wait()
		set.Close()
	})
}
