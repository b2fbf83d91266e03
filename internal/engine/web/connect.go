package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"sort"
)

// ParseHost reads a host in any spelling: a name in lower case ASCII, or an address as itself. addr is valid if the
// host is an address.
func ParseHost(s string) (name string, addr netip.Addr, err error) {
	h, err := parseHost(s)
	return h.name, h.addr.Unmap(), err
}

// Private returns why an address isn't on the public Internet: private, loopback, link-local, metadata; "": it is, or
// it is only for documentation.
func Private(a netip.Addr) string {
	why := reserved(a)
	if why == forDocumentation {
		return ""
	}
	return why
}

// Connect connects to a host and port. check decides about each address of the host when it is known; if it rejects
// one, nothing is sent to any. The checked address is dialed, through the user's proxy if there is one.
func (c *Client) Connect(
	ctx context.Context, name, port string, check func(netip.Addr) error,
) (net.Conn, error) {
	h, err := parseHost(name)
	if err != nil {
		return nil, err
	}
	t := Target{host: h, port: port}
	t.url = url.URL{Scheme: "https", Host: net.JoinHostPort(h.name, port), Path: "/"}
	if port == defaultPort("http") {
		t.url.Scheme = "http" // the user's proxy may depend on it
	}
	proxy, err := c.proxyFor(t)
	if err != nil {
		return nil, err
	}
	found := []netip.Addr{h.addr}
	if !h.addr.IsValid() {
		if found, err = c.options.Resolver.LookupNetIP(ctx, "ip", h.name+"."); err != nil {
			return nil, lookupFailure(t, err)
		}
	}
	for i, a := range found {
		found[i] = a.Unmap()
		if err := check(found[i]); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].BitLen() < found[j].BitLen() }) // as in resolve
	failed := []error{}
	for _, a := range found[:min(len(found), 4)] {
		conn, err := c.dial(ctx, proxy, t, a, func(_ Target, a netip.Addr) error { return check(a) })
		if err == nil {
			return conn, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, &ConnectError{t.Host(), errors.Join(failed...)}
}
