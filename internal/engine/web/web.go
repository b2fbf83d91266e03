// Package web fetches only from the public Internet: a model's URL must not reach this machine, its network or a
// cloud's metadata.
//
//	client, err := web.New(web.Options{})
//	target, err := web.Parse("https://go.dev/doc/")
//	page, err := client.Fetch(ctx, target, web.Auto)
//	text, _ := page.Text(1_000_000)
//
// Every connection is checked when it is made: the name is resolved here, all its addresses must be public, and the
// checked address is dialed, so that a name can't resolve differently in between. This applies to every hop of a
// redirect and through a proxy: the proxy is asked for a tunnel to the checked address (the CONNECT method, for http
// too), never for a name. Only hosts in [Options].AllowPrivate are trusted by name.
//
// The package knows no tools and no models. Package markdown converts HTML, package websearch queries search engines.
package web

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Options configure a Client. The zero value is for an ordinary session.
type Options struct {
	// AllowPrivate are hosts that may be contacted at any address: "host" for every port, or "host:port". A name
	// doesn't allow cloud metadata; the address itself must be listed for that. Only the user's own settings may set
	// it.
	AllowPrivate []string
	// Proxy returns the proxy of a request, such as [http.ProxyFromEnvironment]; nil: none. The proxy itself may be
	// anywhere, because the user chose it.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is sent to servers; a default if empty.
	UserAgent string
	// Timeout bounds a whole fetch; 60 s if 0.
	Timeout time.Duration
	// MaxBody is the maximum number of bytes of a body, after decompression; 10 MB if 0.
	MaxBody int64
	// Resolver finds addresses; nil: the system's.
	Resolver Resolver
	// Dial makes connections; nil: the system's. Its addresses were checked, or are proxies.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs verify servers; nil: the system's.
	RootCAs *x509.CertPool
	// Now is the clock of the cache; nil: time.Now.
	Now func() time.Time
}

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	defaultTimeout = 60 * time.Second
	defaultMaxBody = 10 << 20
	defaultAgent   = "Mozilla/5.0 (compatible; adze)"
	connectTimeout = 10 * time.Second // per address, so that the next one, or plain http, still has time
	maxRedirects   = 10
)

// Client fetches pages. It is safe for concurrent use, keeps no connections open, and need not be closed.
type Client struct {
	options Options
	allow   allowList
	cache   cache
}

// New makes a client. It fails if AllowPrivate has an invalid host.
func New(o Options) (*Client, error) {
	allow, err := parseAllowList(o.AllowPrivate)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultAgent
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{options: o, allow: allow, cache: cache{now: o.Now}}, nil
}

// Exchange is a request to an API, such as a search engine's.
type Exchange struct {
	Method string // GET if empty
	Target Target
	Header http.Header // may have a key: it is only sent to the target
	Body   []byte
}

// Answer is the response of an API, with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes one request, with the same checks as Fetch. It follows no redirects, so that a key isn't sent elsewhere.
// Nothing is cached.
func (c *Client) Do(ctx context.Context, x Exchange) (*Answer, error) {
	late := &TimeoutError{x.Target.Host(), c.options.Timeout}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, late)
	defer cancel()
	answer, err := c.exchange(ctx, x)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), late):
		return nil, late
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return answer, err
}

func (c *Client) exchange(ctx context.Context, x Exchange) (*Answer, error) {
	header := x.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	method := x.Method
	if method == "" {
		method = http.MethodGet
	}
	resp, err := c.send(ctx, method, x.Target, header, bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if redirects(resp.StatusCode) {
		next, err := x.Target.follow(resp.Header.Get("Location"))
		if err != nil {
			return nil, fmt.Errorf("request to %s: it redirects to an address that can't be fetched", x.Target.Host())
		}
		return nil, fmt.Errorf("request to %s: it redirects to %s, which Adze doesn't follow because the request "+
			"contains a key. Set the base URL to the final address", x.Target.Host(), next.Host())
	}
	var p Page
	if err := p.read(ctx, resp, c.options.MaxBody); err != nil {
		return nil, fmt.Errorf("request to %s: %w", x.Target.Host(), err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if p.Incomplete != "" {
		return nil, fmt.Errorf("request to %s: unusable response: %s", x.Target.Host(), p.Incomplete)
	}
	return &Answer{resp.StatusCode, resp.Header, p.Body}, nil
}

const (
	cacheAge   = 15 * time.Minute
	cachePages = 32
	cacheBytes = 16 << 20
)

// cache caches pages for a while: a model often reads a page several times. Its size is bounded.
type cache struct {
	now   func() time.Time
	mu    sync.Mutex
	items []cached // the most recently used is last
}

type cached struct {
	key  string
	at   time.Time
	page *Page
}

func (c *cache) get(key string) *Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.items, func(it cached) bool { return it.key == key })
	if i < 0 {
		return nil
	}
	item := c.items[i]
	c.items = slices.Delete(c.items, i, i+1)
	if age := c.now().Sub(item.at); age < 0 || age >= cacheAge {
		return nil
	}
	c.items = append(c.items, item)
	page := *item.page
	page.Cached = true
	return &page
}

// put caches a page, unless it is incomplete, was fetched in a fallback that may not be needed next time, or must not
// be stored.
func (c *cache) put(key string, p *Page) {
	if p.Redirect != "" || p.Incomplete != "" || p.Note != "" || p.noStore || len(p.Body) > cacheBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = slices.DeleteFunc(c.items, func(it cached) bool { return it.key == key })
	kept := *p
	c.items = append(c.items, cached{key, c.now(), &kept})
	size := 0
	for i := len(c.items) - 1; i >= 0; i-- {
		size += len(c.items[i].page.Body)
		if size > cacheBytes || len(c.items)-i > cachePages {
			c.items = slices.Delete(c.items, 0, i+1)
			break
		}
	}
}
