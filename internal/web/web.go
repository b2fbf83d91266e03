// Package web fetches from the public Internet, and from nowhere else: a model's URL must not reach the machine it runs
// on, the network around it or a cloud's metadata.
//
//	client, err := web.New(web.Options{})
//	target, err := web.Parse("https://go.dev/doc/")
//	page, err := client.Fetch(ctx, target, web.Auto)
//	text, _ := page.Text(1_000_000)
//
// Every connection is checked where it is made: the name is resolved here, all its addresses must be public, and the
// very address that was checked is dialled, so a name cannot change its mind in between. That holds for every hop of a
// redirect and through a proxy: the proxy is asked for a tunnel to the checked address (the CONNECT method, for http
// too), never for a name. Only hosts in [Options].AllowPrivate are trusted by name.
//
// It knows no tools and no models. Package markdown below makes text of HTML, package websearch asks search engines.
package web

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
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
