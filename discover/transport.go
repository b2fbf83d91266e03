package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/lazy"
)

// httpClient returns a client for a server: with the configured headers, only for its own host, and with bounded
// responses.
func httpClient(headers map[string]string, auth *authority) *http.Client {
	return &http.Client{
		Transport: &dressed{
			headers: headers, auth: auth,
			next: &http.Transport{
				Proxy: http.ProxyFromEnvironment,
				DialContext: (&net.Dialer{
					Timeout: 10 * time.Second, KeepAlive: 30 * time.Second,
				}).DialContext,
				TLSHandshakeTimeout:   10 * time.Second,
				MaxIdleConnsPerHost:   4,
				IdleConnTimeout:       60 * time.Second,
				ResponseHeaderTimeout: 0, // a call has no response until it is done
			},
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 5 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return fmt.Errorf("the server redirects to %s. If that is correct, configure that URL",
					req.URL.Redacted())
			}
			return nil
		},
	}
}

// dressed adds headers to requests and bounds responses.
type dressed struct {
	headers map[string]string
	auth    *authority // nil: no tokens, or the SDK manages them
	next    http.RoundTripper
	last    atomic.Pointer[answer]
}

// answer is the response to a message.
type answer struct {
	status int
	kind   string // its media type
}

func (d *dressed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range d.headers {
		req.Header.Set(name, value)
	}
	resp, err := d.send(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if req.Method == http.MethodPost {
		d.last.Store(&answer{resp.StatusCode, kind})
	}
	if kind != "text/event-stream" { // events are bounded individually
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: stdio.MaxMessage}
	}
	return resp, nil
}

// send sends a request with the token, and again with a new one if it is rejected.
func (d *dressed) send(req *http.Request) (*http.Response, error) {
	if d.auth == nil || req.Header.Get("Authorization") != "" {
		return d.next.RoundTrip(req)
	}
	token, err := d.auth.token()
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := d.next.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		closeBody(resp)
		if token, err = d.auth.another(token); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// limitedBody is a response limited to the length of a message.
type limitedBody struct {
	io.ReadCloser
	left int64
}

var errLongAnswer = errors.New("the response is larger than 10 MB. Request less data")

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errLongAnswer
	}
	return n, err
}

// hasHeader reports whether a header is configured, ignoring case.
func hasHeader(headers map[string]string, name string) bool {
	for h := range headers {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// webError describes the response of a URL that doesn't speak MCP. The SDK has no types for such errors.
type webError struct {
	text  string
	cause error
}

func (e *webError) Error() string { return e.text }

func (e *webError) Unwrap() error { return e.cause }

var contentType = lazy.Regexp(`unsupported content type "([^"]*)"`)

func (l *link) webError(client *http.Client, err error) error {
	at, text := l.conf.Target(), err.Error()
	plain := func(format string, args ...any) error { return &webError{fmt.Sprintf(format, args...), err} }
	kind, status := "", 0
	if m := contentType().FindStringSubmatch(text); m != nil {
		kind = cmp.Or(m[1], "none")
	}
	if got := client.Transport.(*dressed).last.Load(); got != nil && errors.Is(err, mcp.ErrConnectionClosed) &&
		strings.HasSuffix(text, io.EOF.Error()) {
		// depending on timing, the SDK only reports that it closed the connection
		kind, status = cmp.Or(got.kind, "none"), got.status
	}
	last := strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
	for code := 400; code < 600 && status < 400; code++ {
		if http.StatusText(code) == last {
			status = code
		}
	}
	switch {
	case status >= 400:
		return plain("%s returned %d %s%s", at, status, http.StatusText(status), doubt(status))
	case strings.Contains(text, "missing endpoint"):
		return plain("%s is not an MCP server with SSE transport. For streamable HTTP, use httpUrl", at)
	case strings.Contains(text, "failed to decode response"), kind == "application/json":
		return plain("%s is not an MCP server (got JSON that is not a message)", at)
	case strings.Contains(text, "request terminated without response"), kind == "text/event-stream":
		return plain("%s closed the first request without a response", at)
	case kind != "":
		return plain("%s is not an MCP server (got content type %s)", at, kind)
	}
	return err
}

func doubt(status int) string {
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone {
		return ". Is that the address of an MCP server?"
	}
	return ""
}

// Messages is a connection to a server: JSON-RPC messages in both directions.
type Messages interface {
	// Send passes a message on. It doesn't wait for a response.
	Send(ctx context.Context, message json.RawMessage) error
	// Receive waits for the server's next message. Its error ends the connection: io.EOF if Close was called.
	Receive(ctx context.Context) (json.RawMessage, error)
	Close() error
}

// messageTransport makes Messages a transport of the SDK.
type messageTransport struct{ m Messages }

func (t messageTransport) Connect(context.Context) (mcp.Connection, error) {
	return messageConn(t), nil
}

type messageConn struct{ m Messages }

func (c messageConn) SessionID() string { return "" }

func (c messageConn) Close() error { return c.m.Close() }

// Write sends a message, and reports that it is about to: see session.call.
func (c messageConn) Write(ctx context.Context, message jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	return c.m.Send(ctx, raw)
}

// Read returns the next message. It skips invalid ones.
func (c messageConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		raw, err := c.m.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if message, err := jsonrpc.DecodeMessage(raw); err == nil {
			return message, nil
		}
	}
}

// formTransport keeps the schema of a form as the server wrote it: the SDK reads it into a map, which loses the order
// of the fields. The SDK's own transports can't be wrapped.
type formTransport struct{ mcp.Transport }

// Connect connects to the server.
func (t formTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return formConn{c}, nil
}

type formConn struct{ mcp.Connection }

// formKey is the key in _meta under which the schema is kept.
const formKey = "adze/form"

// Read returns the next message.
func (c formConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	r, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || r.Method != "elicitation/create" {
		return m, err
	}
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil || params["requestedSchema"] == nil {
		return m, nil
	}
	_ = json.Unmarshal(params["_meta"], &meta) // there may be none
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[formKey], _ = json.Marshal(string(params["requestedSchema"])) // a string and a map can be written
	params["_meta"], _ = json.Marshal(meta)
	r.Params, err = json.Marshal(params)
	return r, err
}

// state returns the directory for stored data about the server; "" for one without a configuration to identify it.
func (l *link) state() string {
	if l.kind == dialed {
		return ""
	}
	return l.opt.State
}
