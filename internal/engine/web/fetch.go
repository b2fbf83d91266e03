package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Format is the requested format of a page. It only affects the Accept header.
type Format string

// The formats.
const (
	Auto     Format = "auto"
	Markdown Format = "markdown"
	HTML     Format = "html"
	Text     Format = "text"
)

func (f Format) accept() string {
	switch f {
	case HTML:
		return "text/html, application/xhtml+xml, */*;q=0.5"
	case Text:
		return "text/plain, text/*;q=0.9, */*;q=0.5"
	}
	return "text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.8, */*;q=0.5"
}

// TimeoutError reports that a fetch timed out.
type TimeoutError struct {
	URL   string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("fetch %s: timed out after %s", e.URL, e.After)
}

// StatusError reports a response that isn't the page.
type StatusError struct {
	URL        string
	Status     int
	RetryAfter string // when to retry, if the server says so: "3 seconds"
	Excerpt    string // the beginning of the response, untrusted
}

func (e *StatusError) Error() string {
	said := fmt.Sprintf("fetch %s: the server returned %s", e.URL, statusLine(e.Status))
	if e.RetryAfter != "" {
		said += "; retry after " + e.RetryAfter
	}
	if redirects(e.Status) {
		said += " without a location"
	}
	return said
}

func statusLine(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// Fetch gets a page. Redirects are followed on the same host only; one to another host is the page's Redirect, and
// nothing was sent there. For an http URL, https is tried first.
func (c *Client) Fetch(ctx context.Context, t Target, f Format) (*Page, error) {
	key := string(f) + " " + t.String()
	if p := c.cache.get(key); p != nil {
		return p, nil
	}
	late := &TimeoutError{shown(t.String()), c.options.Timeout}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, late)
	defer cancel()
	page, err := c.fetch(ctx, t, f)
	if err != nil {
		if errors.Is(context.Cause(ctx), late) {
			return nil, late
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	page.Asked = t.String()
	c.cache.put(key, page)
	return page, nil
}

// fetch tries https for an http URL, like browsers, and http if that fails.
func (c *Client) fetch(ctx context.Context, t Target, f Format) (*Page, error) {
	secure, ok := c.Upgraded(t)
	if !ok {
		return c.follow(ctx, t, f, false)
	}
	page, err := c.follow(ctx, secure, f, true)
	why := "https redirects to http"
	var connect *ConnectError
	switch {
	case errors.As(err, &connect) && ctx.Err() == nil:
		why = "https failed: " + connect.Err.Error()
	case !errors.Is(err, errOnlyHTTP):
		return page, err
	}
	if page, err = c.follow(ctx, t, f, false); err != nil {
		return nil, err
	}
	page.Note = fmt.Sprintf("it was fetched over unencrypted http (%s)", why)
	return page, nil
}

// Upgraded returns the https target that Fetch tries first for an http one: for a public name at its default port.
func (c *Client) Upgraded(t Target) (Target, bool) {
	if t.scheme() != "http" || !t.usualPort() || c.allow.names(t) || t.host.addr.IsValid() {
		return t, false
	}
	return t.withScheme("https"), true
}

// errOnlyHTTP reports a page that is only served with http.
var errOnlyHTTP = errors.New("the server supports only http")

// follow follows redirects.
func (c *Client) follow(ctx context.Context, t Target, f Format, upgraded bool) (*Page, error) {
	seen := map[string]bool{}
	for {
		seen[t.String()] = true
		page, next, err := c.visit(ctx, t, f)
		if err != nil || next == nil {
			return page, err
		}
		switch {
		case upgraded && next.scheme() == "http" && next.host == t.host && next.usualPort():
			return nil, errOnlyHTTP
		case !sameServer(t, *next):
			return &Page{URL: t.String(), Status: page.Status, Redirect: next.String()}, nil
		case seen[next.String()]:
			return nil, fmt.Errorf("fetch %s: redirect loop", shown(t.String()))
		case len(seen) > maxRedirects:
			return nil, fmt.Errorf("fetch %s: more than %d redirects", shown(t.String()), maxRedirects)
		}
		t = *next
	}
}

// sameServer reports whether a redirect stays on the approved server: the same host and port, and never from https to
// http.
func sameServer(from, to Target) bool {
	if from.host != to.host {
		return false
	}
	if from.scheme() == to.scheme() {
		return from.port == to.port
	}
	return to.scheme() == "https" && from.usualPort() && to.usualPort()
}

// visit makes one request. The result is a page, or the next target.
func (c *Client) visit(ctx context.Context, t Target, f Format) (*Page, *Target, error) {
	header := http.Header{"Accept": {f.accept()}, "Accept-Language": {"en, *;q=0.5"}}
	resp, err := c.send(ctx, http.MethodGet, t, header, nil)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if location := resp.Header.Get("Location"); location != "" && redirects(resp.StatusCode) {
		next, err := t.follow(location)
		if err != nil {
			return nil, nil, fmt.Errorf("fetch %s: it redirects to an address that can't be fetched: %w",
				shown(t.String()), err)
		}
		return &Page{Status: resp.StatusCode}, &next, nil
	}
	page := &Page{
		URL: t.String(), Status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"),
		noStore: strings.Contains(resp.Header.Get("Cache-Control"), "no-store"),
	}
	if err := page.read(ctx, resp, c.options.MaxBody); err != nil {
		return nil, nil, fmt.Errorf("fetch %s: %w", shown(t.String()), err)
	}
	if ctx.Err() != nil && page.Incomplete == "" || errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, ctx.Err() // the connection was closed here, not by the server
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, nil, &StatusError{shown(t.String()), resp.StatusCode, RetryAfter(resp.Header), page.excerpt(ctx)}
	}
	return page, nil, nil
}

// RetryAfter describes when to retry; "" if the server doesn't say.
func RetryAfter(h http.Header) string {
	said := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(said); err == nil {
		return at.UTC().Format(http.TimeFormat)
	}
	switch seconds, err := strconv.ParseUint(said, 10, 31); {
	case err != nil:
		return ""
	case seconds == 1:
		return "1 second"
	default:
		return fmt.Sprintf("%d seconds", seconds)
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send makes a request over its own connection, which is closed with the body. It doesn't follow redirects.
func (c *Client) send(ctx context.Context, method string, t Target, header http.Header, body io.Reader) (*http.Response,
	error) {
	req, err := http.NewRequestWithContext(ctx, method, t.String(), body)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", shown(t.String()), err)
	}
	req.Header = header
	req.Header.Set("User-Agent", c.options.UserAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := c.transport(t).RoundTrip(req)
	if err != nil {
		var refused *RefusedError
		var connect *ConnectError
		if errors.As(err, &refused) || errors.As(err, &connect) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &ConnectError{t.Host(), err}
	}
	return resp, nil
}

// transport returns a transport for one target only.
func (c *Client) transport(t Target) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if address != net.JoinHostPort(t.host.name, t.port) {
				return nil, &RefusedError{shown(address), "unexpected content"}
			}
			return c.connect(ctx, t)
		},
		TLSClientConfig:        &tls.Config{RootCAs: c.options.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		DisableKeepAlives:      true,
		DisableCompression:     true, // decompressed here, with a limit
		MaxResponseHeaderBytes: 256 << 10,
		Protocols:              protocols,
	}
}
