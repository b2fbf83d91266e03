package serve

import (
	"context"
	"crypto/subtle"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// idleSession is how long an HTTP session lives without a request.
const idleSession = 30 * time.Minute

// HTTP serves clients on a loopback address until ctx ends. Each request must carry the token, and a Host and Origin of
// this machine, because web pages in a browser can reach loopback too. ready, if not nil, is called with the URL.
func (s *Server) HTTP(ctx context.Context, address, token string, ready func(url string)) error {
	if len(token) < 16 {
		return fmt.Errorf("serve MCP over HTTP: the token has %d characters (minimum: 16)", len(token))
	}
	if err := CheckAddress(address); err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve MCP on %s: %w", address, err)
	}
	open := &connections{}
	defer open.finish()
	server := &http.Server{Handler: guard(token, s.handler(ctx, open)), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if ready != nil {
		ready("http://" + l.Addr().String() + "/mcp")
	}
	if err := server.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("serve MCP on %s: %w", address, err)
	}
	return ctx.Err()
}

// CheckAddress returns an error if address is not a loopback host:port.
func CheckAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return fmt.Errorf("invalid address %q (expected host:port such as 127.0.0.1:8931; port 0 selects a free port)",
			address)
	case !isLoopback(host):
		return fmt.Errorf("invalid address %q: only loopback addresses are allowed (e.g. 127.0.0.1:8931)", address)
	}
	return nil
}

// Handler serves clients over HTTP without authentication: the caller adds it. Sessions end with ctx.
func (s *Server) Handler(ctx context.Context) http.Handler {
	open := &connections{}
	context.AfterFunc(ctx, open.finish)
	return s.handler(ctx, open)
}

// maxBody is the maximum length of a request.
const maxBody = 10 << 20

// handler serves sessions, each with its own executor. Requests of modern versions belong to no session and share
// one executor.
func (s *Server) handler(ctx context.Context, open *connections) http.Handler {
	c, m := s.connect()
	c.shared = true
	context.AfterFunc(ctx, c.end)
	open.add(c, nil)
	modern := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
	})
	sessions := s.sessions(ctx, open)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modernVersion {
			modern.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

// sessions serves protocol versions with sessions.
func (s *Server) sessions(ctx context.Context, open *connections) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		// The SDK calls this for every request, including those of an existing session, so nothing may outlive the
		// request unless it starts a session.
		c, m := s.connect()
		m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(reqCtx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if peer, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" &&
					open.add(c, peer) {
					stop := context.AfterFunc(ctx, c.end)
					go func() {
						peer.Wait()
						stop()
						open.remove(c)
						c.finish()
					}()
				}
				return next(reqCtx, method, req)
			}
		})
		return m
	}, &mcp.StreamableHTTPOptions{SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody})
}

// guard rejects requests from other hosts or origins and those without the token.
func guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !isLoopback(host) {
			http.Error(w, "only requests to a loopback host are allowed", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			u, err := url.Parse(origin)
			if err != nil || !isLoopback(u.Hostname()) {
				http.Error(w, "cross-origin requests are not allowed", http.StatusForbidden)
				return
			}
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "missing or invalid token", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// connections are the open connections.
type connections struct {
	mu   sync.Mutex
	open map[*connection]*mcp.ServerSession // nil: the requests have no session
}

// add reports whether the connection is new: a client may send initialize twice.
func (cs *connections) add(c *connection, peer *mcp.ServerSession) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, known := cs.open[c]; known {
		return false
	}
	if cs.open == nil {
		cs.open = map[*connection]*mcp.ServerSession{}
	}
	cs.open[c] = peer
	return true
}

func (cs *connections) remove(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, c)
}

// finish ends all connections concurrently.
func (cs *connections) finish() {
	cs.mu.Lock()
	all := maps.Clone(cs.open)
	cs.mu.Unlock()
	var wg sync.WaitGroup
	for c, peer := range all {
		wg.Go(func() {
			c.finish()
			if peer != nil {
				peer.Close()
			}
		})
	}
	wg.Wait()
}
