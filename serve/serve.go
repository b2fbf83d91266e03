// Package serve offers the tools of a [tool.Registry] to MCP clients: other agents, editors, inspectors.
//
//	s := serve.New(serve.Options{Name: "adze", Session: func(c serve.Client) (*tool.Executor, func(), error) {
//		return &tool.Executor{Registry: registry, Policy: policy}, nil, nil
//	}})
//	err := s.Stdio(ctx, os.Stdin, os.Stdout)
//
// # Sessions
//
// One connection is one session with its own executor: calls go through the same order, policy and permission
// prompts as those of a model. HTTP clients of protocol version 2026-07-28, which has no sessions, share one.
// Options.Tools selects the tools; one that needs a user is offered only to clients that
// can ask one.
//
// # Approval
//
// Calls that require approval use elicitation. If the client doesn't support it or declines, the call is denied, and
// the error names the rule that would allow it. In protocol version 2026-07-28 the question is the result of the call,
// and the client repeats the call with the answer: it counts once, for a time, and for exactly this call.
//
// # Transports
//
// [Server.Stdio] serves one client on stdin and stdout, and writes nothing to stdout but the protocol. [Server.HTTP]
// listens on a loopback address, for clients that have a token. [Server.Handler] is for a program that has an HTTP
// server, which adds authentication.
//
// The package knows no concrete tool and no settings.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// Options configure a server. Session is required.
type Options struct {
	Name         string // empty: adze
	Version      string
	Instructions string // for the client's model
	// Session makes the executor of one connection, once its client is known, and a function to call at its end (may be
	// nil). An executor without an Ask gets the client's; its Observe is still called.
	Session func(Client) (*tool.Executor, func(), error)
	// Tools are the names of the offered tools; nil offers all that the registry declares. A tool with Needs is offered
	// only if Meets has them.
	Tools []string
	// Meets are the needs of tools that the sessions meet. tool.NeedsUser is met only if the client can ask.
	Meets []tool.Need
	// Abroad are the names of tools that use the network although their kind is read-only.
	Abroad []string
}

// Client describes a client.
type Client struct {
	Name    string
	Version string
	CanAsk  bool // it can show an approval request to its user
	// Ask sends an approval request to the client. Its error is a *Denied if the client can't ask or declines. A
	// session that needs the answer, such as the rule of an approval for the session, wraps it.
	Ask tool.Asker
	// directories that it reports as its workspace; nil if it doesn't. They may restrict access, never extend it
	Roots []string
}

// Server serves tools.
type Server struct {
	opt        Options
	answerTime time.Duration
}

// New makes a server.
func New(opt Options) *Server {
	if opt.Name == "" {
		opt.Name = "adze"
	}
	return &Server{opt, answerTime}
}

// connection is one client and its session.
type connection struct {
	server *Server
	shared bool            // by all clients without their own session
	life   context.Context // ends with the connection
	end    context.CancelFunc

	mu      sync.Mutex
	begun   bool
	session *session
	err     error
	done    func() // called at its end
}

// cacheable is how long, and for whom, a client may keep the list of tools.
var cacheable = mcp.Cacheable{TTLMs: int(5 * time.Minute / time.Millisecond), CacheScope: "private"}

// connect makes the MCP server of one connection. The caller closes both.
func (s *Server) connect() (*connection, *mcp.Server) {
	life, end := context.WithCancel(context.Background())
	c := &connection{server: s, life: life, end: end}
	m := mcp.NewServer(&mcp.Implementation{Name: s.opt.Name, Version: s.opt.Version}, &mcp.ServerOptions{
		Instructions: s.opt.Instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = cacheable },
	})
	m.AddReceivingMiddleware(c.receive)
	return c, m
}

// receive handles requests about tools and leaves the rest to the SDK.
func (c *connection) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			from := callerOf(r)
			s, err := c.begin(ctx, from)
			if err != nil {
				return nil, err
			}
			return &mcp.ListToolsResult{Tools: s.list(from), Cacheable: cacheable}, nil
		case *mcp.CallToolRequest:
			from := callerOf(r)
			s, err := c.begin(ctx, from)
			if err != nil {
				return nil, err
			}
			return s.call(ctx, from, r.Params)
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			// The answer is a version with sessions. The SDK would refuse to ask a client that requested another.
			r.Params.ProtocolVersion = min(r.Params.ProtocolVersion, "2025-11-25")
		}
		if peer, ok := req.GetSession().(*mcp.ServerSession); ok && strings.Contains(method, "/") {
			feature, _, _ := strings.Cut(method, "/")
			p := peer.InitializeParams()
			if slices.Contains([]string{"prompts", "resources", "completion"}, feature) && p != nil &&
				p.ProtocolVersion >= modernVersion {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has only tools"}
			}
		}
		return next(ctx, method, req)
	}
}

// begin makes the session at the first request that needs it.
func (c *connection) begin(ctx context.Context, from caller) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun {
		return c.session, c.err
	}
	c.begun = true
	s := &session{
		server: c.server, life: c.life, shared: c.shared, calls: map[string]*running{},
		later: newLater(c.server.answerTime),
	}
	client := Client{Name: from.name, Version: from.version, CanAsk: from.canAsk, Ask: s.ask}
	if p := from.peer.InitializeParams(); p != nil && p.Capabilities != nil && !from.modern {
		client.Roots = roots(ctx, from.peer, p.Capabilities)
	}
	x, done, err := c.server.opt.Session(client)
	if err != nil {
		c.err = err
		return nil, err
	}
	s.use(x)
	c.session, c.done = s, done
	return c.session, nil
}

// finish ends the connection's calls and its session. It may be called more than once.
func (c *connection) finish() {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil {
		c.session.wait()
		c.done()
		c.done = nil
	}
}

// stopWait is how long running calls may take to end after the client has disconnected.
const stopWait = 300 * time.Millisecond

// Stdio serves one client on in and out, until in or ctx ends. Requests before the end of in still get a moment to be
// answered.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	c, m := s.connect()
	defer c.finish()
	defer context.AfterFunc(ctx, c.end)()
	done := make(chan error, 1)
	to := &answers{open: newUnanswered(), WriteCloser: out}
	transport := &mcp.IOTransport{Reader: &watched{newInput(in, to), c.end}, Writer: to, MaxLineLength: -1}
	go func() { done <- m.Run(c.life, transport) }()
	select {
	case err := <-done:
		return clientLeft(ctx, err)
	case <-c.life.Done():
	}
	select {
	case err := <-done:
		return clientLeft(ctx, err)
	case <-time.After(stopWait): // a call hangs, but the program exits
		return ctx.Err()
	}
}

// clientLeft returns nil for errors at the normal end of a connection.
func clientLeft(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) ||
		errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return fmt.Errorf("serve MCP: %w", err)
}

// watched reports when the client has closed its end, so that running calls end too.
type watched struct {
	io.ReadCloser
	ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}
