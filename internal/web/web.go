// Package web fetches from the public Internet, and from nowhere else: a model's URL must not reach the machine it runs
// on, the network around it or a cloud's metadata.
//
//	client, err := web.New(web.Options{})
//	target, err := web.Parse("https://go.dev/doc/")
//	page, err := client.Fetch(ctx, target, web.Auto)
//	text, _ := page.Text(1_000_000)
//
// Every connection is checked where it is made: the name is resolved here, all its addresses must be public, and the
// very address that was checked is dialed, so a name cannot change its mind in between. That holds for every hop of a
// redirect and through a proxy: the proxy is asked for a tunnel to the checked address (the CONNECT method, for http
// too), never for a name. Only hosts in [Options].AllowPrivate are trusted by name.
//
// It knows no tools and no models. Package markdown below makes text of HTML, package websearch asks search engines.
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

// Options says how a Client reaches out. The zero value is what an ordinary session wants.
type Options struct {
	// AllowPrivate are hosts that may be reached wherever they are: "host" for every port of it, or "host:port". A
	// name among them opens no cloud metadata; the address itself must be named for that. Only the user's own
	// settings may fill it.
	AllowPrivate []string
	// Proxy says which proxy a request goes through, such as [http.ProxyFromEnvironment]; nil: none. The proxy itself
	// may be anywhere, since the user chose it.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is sent to servers; a default if empty.
	UserAgent string
	// Timeout is how long a fetch may take as a whole; 60 s if 0.
	Timeout time.Duration
	// MaxBody is how many bytes of a body are taken, after decompression; 10 MB if 0.
	MaxBody int64
	// Resolver finds addresses; nil: the system's.
	Resolver Resolver
	// Dial makes connections; nil: the system's. What it is given was checked, or is a proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs are the authorities servers are checked by; nil: the system's.
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
	connectTimeout = 10 * time.Second // for one address: so that the next, or plain http, still has time
	maxRedirects   = 10
)

// Client fetches. It may be used by several goroutines, keeps no connection open, and need not be closed.
type Client struct {
	options Options
	allow   allowList
	cache   cache
}

// New makes a client. It fails if AllowPrivate holds what is no host.
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

// Exchange is a request to an API, such as a search engine's, and what it answers.
type Exchange struct {
	Method string // GET if empty
	Target Target
	Header http.Header // may hold a key: it is sent to the target and nowhere else
	Body   []byte
}

// Answer is what an API answers, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes one request, as guarded as Fetch. It follows no redirect: a key must not travel on. Nothing is cached.
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
		return nil, fmt.Errorf("request to %s: it redirects to %s, which Adze doesn't follow because the request contains a key. Set the base URL to the final address", x.Target.Host(), next.Host())
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

// cache keeps pages for a while: a model often looks at one page several times. It holds a bounded number of bytes.
type cache struct {
	now   func() time.Time
	mu    sync.Mutex
	items []cached // the one used last stands last
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

// put keeps a page, unless it is only half of one, came over a way that may work better next time, or must not be kept.
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
