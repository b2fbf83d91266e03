// Package api is shared by the adapters of model APIs: requests over HTTP, server-sent events, timeouts, retries,
// classes of failures, lists of models and simplified schemas. An adapter encodes a request and decodes the events of
// its answer:
//
//	var service = api.API{Name: "anthropic", BaseURL: "https://api.anthropic.com", Version: "/v1", …}
//
//	client, err := api.New(options, service)
//	…
//	return client.Stream(ctx, api.Exchange{
//		Path:   "/messages",
//		Encode: func() ([]byte, error) { return m.encode(r) },
//		Decode: func(out *api.Output) api.Decoder { return &answer{out: out} },
//		Learn:  m.learn,
//	})
//
// A request is sent again only while nothing of its answer was emitted. An answer that breaks off is an error, never a
// shorter answer.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/model"
)

// Options configure a model of any API. The zero value, with a Key and a Model, is for the API's own server.
type Options struct {
	BaseURL string // with or without the version path; "": the API's own
	Key     string // "": none is sent
	// KeyHeader is the header that has the key, such as api-key; "": that of the API
	KeyHeader string
	// Token returns a bearer token for each request, in place of a key; nil: none is sent
	Token func(context.Context) (string, error)
	Model string

	// KeyName and URLName are what a user sets for the key and the URL, such as OPENAI_API_KEY. Errors name them.
	KeyName, URLName string

	Headers   map[string]string          // sent with each request; they replace those of the adapter
	Sampling  map[string]json.RawMessage // parameters such as temperature; the adapter puts them in their place
	Extra     map[string]json.RawMessage // merged into the body of each request
	Images    Images                     // whether images are sent
	CacheTTL  string                     // how long the server caches a prefix, such as "1h"; "": its default
	MaxTokens int                        // of an answer, if the request has no limit
	Retry     Retry
	FirstByte time.Duration // of silence until the first byte; 0 is 300 s
	NextByte  time.Duration // of silence between two bytes; 0 is 60 s, or the API's default
	Client    *http.Client  // nil: a new one, with the proxies of the environment
}

// API describes an API.
type API struct {
	Name    string // as in [model.Sealed]
	BaseURL string // of its own server
	Version string // path such as "/v1", added to a base URL that has none
	// TryPlain first sends requests to a base URL as given, and adds Version only after a 404.
	TryPlain bool
	// default of Options.NextByte, for servers that are silent while a model thinks; 0 is 60 s
	NextByte      time.Duration
	Models        string                       // path of the list of models
	ModelVariable string                       // what a user sets for the model, such as OPENAI_MODEL. Errors name it.
	Header        func(key string) http.Header // of each request; the key may be ""
}

// Client sends the requests of an adapter. It is safe for concurrent use.
type Client struct {
	Options Options // with defaults filled in
	API     API

	base     *url.URL
	http     *http.Client
	header   http.Header
	prefixes []string // paths to try after the base URL
	secrets  []string // texts that no error contains

	mu       sync.Mutex
	token    string                     // the last one, which no error contains
	noImages bool                       // the server rejected images
	prefix   int                        // index of the prefix that works, if known
	schemas  map[string]json.RawMessage // converted schemas of external tools, by original
}

// versionPath matches base URLs that have a version path, also before a path such as /openai.
var versionPath = lazy.Regexp(`/v\d+[a-z0-9.]*(/|$)`)

// New checks the options. It sends nothing.
func New(o Options, a API) (*Client, error) {
	address := cmp.Or(strings.TrimSpace(o.BaseURL), a.BaseURL)
	base, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		text := address
		if strings.Contains(text, "@") {
			text = "with a user name" // it may contain a password
		}
		return nil, model.Errorf(model.ErrRejected,
			"invalid base URL %q (expected a URL such as http://127.0.0.1:11434/v1)", text)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	o.Key = strings.TrimSpace(o.Key) // a newline from a file would make an invalid header
	o.FirstByte = cmp.Or(o.FirstByte, 300*time.Second)
	o.NextByte = cmp.Or(o.NextByte, a.NextByte, 60*time.Second)
	o.Retry = o.Retry.orDefault()
	c := &Client{Options: o, API: a, base: base, http: o.Client, prefixes: prefixes(base.Path, a)}
	if c.http == nil {
		c.http = newClient()
	}
	c.header = http.Header{}
	if a.Header != nil {
		c.header = a.Header(o.Key)
	}
	if o.KeyHeader != "" {
		c.header.Del("Authorization")
		c.header.Set(o.KeyHeader, o.Key)
	}
	for name, value := range o.Headers {
		c.header.Set(name, value)
	}
	c.secrets = secrets(o, base)
	return c, nil
}

// prefixes returns the version paths to try, in order.
func prefixes(path string, a API) []string {
	switch {
	case a.Version == "" || versionPath().MatchString(path):
		return []string{""}
	case a.TryPlain:
		return []string{"", a.Version}
	}
	return []string{a.Version, ""}
}

// newClient shares nothing with http.DefaultClient. Compression is off, because proxies that compress a stream delay
// it. The time until the response's header is bounded by patience, which knows why it stopped a request. Redirects to
// another server aren't followed: it would receive the key.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			MaxIdleConns:        10,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0]
			if len(via) > 5 || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host ||
				r.Method != first.Method {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// Address returns the server's base URL, without credentials.
func (c *Client) Address() string {
	u := *c.base
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
