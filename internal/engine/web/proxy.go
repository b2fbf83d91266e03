package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	xproxy "golang.org/x/net/proxy"
)

// proxy is a proxy from the user's configuration.
type proxy struct{ url *url.URL }

// ProxyError reports that a proxy didn't make a connection.
type ProxyError struct {
	Proxy string // host and port, never the password
	Err   error
}

func (e *ProxyError) Error() string { return fmt.Sprintf("through the proxy %s: %v", e.Proxy, e.Err) }

func (e *ProxyError) Unwrap() error { return e.Err }

func (c *Client) proxyFor(t Target) (*proxy, error) {
	if c.options.Proxy == nil {
		return nil, nil
	}
	u, err := c.options.Proxy(&http.Request{Method: http.MethodGet, URL: t.URL(), Header: http.Header{}})
	if err != nil {
		return nil, &ConnectError{t.Host(), fmt.Errorf("invalid proxy settings: %w", err)}
	}
	if u == nil {
		return nil, nil
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return &proxy{u}, nil
	}
	return nil, &ConnectError{t.Host(), fmt.Errorf("unsupported proxy scheme %s (expected http, https or socks5)",
		u.Scheme)}
}

func (p *proxy) address() string {
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	return net.JoinHostPort(p.url.Hostname(), port)
}

// tunnel requests a connection to an address from a proxy. The proxy itself is dialed unchecked: the user has
// configured it.
func (c *Client) tunnel(ctx context.Context, p *proxy, address string) (net.Conn, error) {
	conn, err := c.tunnelled(ctx, p, address)
	if err != nil {
		return nil, &ProxyError{p.address(), err}
	}
	return conn, nil
}

func (c *Client) tunnelled(ctx context.Context, p *proxy, address string) (net.Conn, error) {
	if p.url.Scheme == "socks5" || p.url.Scheme == "socks5h" {
		return c.socks(ctx, p, address)
	}
	conn, err := dialer(c.direct).DialContext(ctx, "tcp", p.address())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // cancels reading the proxy's response
	defer stop()
	if p.url.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: p.url.Hostname(), RootCAs: c.options.RootCAs})
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	if err := p.ask(conn, address); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ask sends a CONNECT request over a connection to the proxy.
func (p *proxy) ask(conn net.Conn, address string) error {
	req := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{"User-Agent": {""}},
	}
	if user := p.url.User; user != nil {
		password, _ := user.Password()
		basic := http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user.Username(), password)
		req.Header.Set("Proxy-Authorization", basic.Header.Get("Authorization"))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	r := bufio.NewReaderSize(&limited{conn, 64 << 10}, 4096)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("it responded %q to a tunnel to %s", resp.Status, address)
	case r.Buffered() > 0:
		return errors.New("it sent data before a request")
	}
	return nil
}

// limited reads at most n bytes in total: the response of a proxy is short.
type limited struct {
	net.Conn
	n int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.n <= 0 {
		return 0, errors.New("response too long")
	}
	n, err := l.Conn.Read(p[:min(len(p), l.n)])
	l.n -= n
	return n, err
}

func (c *Client) socks(ctx context.Context, p *proxy, address string) (net.Conn, error) {
	var auth *xproxy.Auth
	if user := p.url.User; user != nil {
		password, _ := user.Password()
		auth = &xproxy.Auth{User: user.Username(), Password: password}
	}
	d, err := xproxy.SOCKS5("tcp", p.address(), auth, dialer(c.direct))
	if err != nil {
		return nil, err
	}
	return d.(xproxy.ContextDialer).DialContext(ctx, "tcp", address)
}

func (c *Client) direct(ctx context.Context, network, address string) (net.Conn, error) {
	if c.options.Dial != nil {
		return c.options.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// dialer adapts a function to package proxy.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}
