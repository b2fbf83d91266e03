package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeNet is a network of names and addresses. It records dials, and redirects them.
type fakeNet struct {
	names map[string][]string // without the final dot
	serve map[string]string   // where a dial to an address really goes; others are refused

	mu     sync.Mutex
	dialed []string
	asked  []string
}

var errNoServer = errors.New("no server answers")

func (f *fakeNet) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, name)
	addrs, ok := f.names[strings.TrimSuffix(name, ".")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var found []netip.Addr
	for _, a := range addrs {
		found = append(found, netip.MustParseAddr(a))
	}
	return found, nil
}

func (f *fakeNet) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	f.dialed = append(f.dialed, address)
	to, ok := f.serve[address]
	f.mu.Unlock()
	if !ok {
		return nil, errNoServer
	}
	return new(net.Dialer).DialContext(ctx, network, to)
}

func (f *fakeNet) dials() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dialed)
}

func (f *fakeNet) client(t testing.TB, o Options) *Client {
	t.Helper()
	o.Resolver, o.Dial = f, f.Dial
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// site serves a handler at the public address 93.184.216.34 under the name site.test, with http and https.
func site(t testing.TB, h http.HandlerFunc) (*fakeNet, *Client) {
	t.Helper()
	return siteWith(t, Options{}, h)
}

func siteWith(t testing.TB, o Options, h http.HandlerFunc) (*fakeNet, *Client) {
	t.Helper()
	plain := httptest.NewServer(h)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(h)
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	f := &fakeNet{
		names: map[string][]string{"example.com": {"93.184.216.34"}, "other.example.com": {"93.184.216.35"}},
		serve: map[string]string{
			"93.184.216.34:80":   plain.Listener.Addr().String(),
			"93.184.216.34:8080": plain.Listener.Addr().String(),
			"93.184.216.34:443":  secure.Listener.Addr().String(),
		},
	}
	o.RootCAs = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return f, f.client(t, o)
}

func fetch(t testing.TB, c *Client, url string) (*Page, error) {
	t.Helper()
	target, err := Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return c.Fetch(t.Context(), target, Auto)
}
