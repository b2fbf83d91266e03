package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// RefusedError says that a target is not of the public Internet. Nothing was sent to it.
type RefusedError struct {
	Host   string
	Reason string // "127.0.0.1 is loopback"
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is not fetched: %s", e.Host, e.Reason)
}

// ConnectError says that a host was not reached, or ended the connection before it answered.
type ConnectError struct {
	Host string
	Err  error
}

func (e *ConnectError) Error() string { return fmt.Sprintf("reach %s: %v", e.Host, e.Err) }

func (e *ConnectError) Unwrap() error { return e.Err }

// Check refuses with a *[RefusedError] what is seen from the URL alone: a private address in any spelling, a name of this
// machine or its network. It looks nothing up; Fetch checks again, where it connects.
func (c *Client) Check(t Target) error {
	if t.host.addr.IsValid() {
		return c.judge(t, t.host.addr)
	}
	if c.allow.names(t) {
		return nil
	}
	if why := localName(t.host.name); why != "" {
		return &RefusedError{t.Host(), t.host.name + " " + why}
	}
	return nil
}

func (c *Client) judge(t Target, a netip.Addr) error {
	why := reserved(a)
	switch {
	case why == "" || c.allow.opens(t, a):
		return nil
	case t.host.addr.IsValid():
		return &RefusedError{t.Host(), fmt.Sprintf("the address is %s", why)}
	}
	return &RefusedError{t.Host(), fmt.Sprintf("it resolves to %s, and that address is %s", a, why)}
}

// resolve finds the addresses of a target. If any of them is not public it is refused as a whole: a host that mixes
// them is up to something, and which one would be dialled is chance.
func (c *Client) resolve(ctx context.Context, t Target) ([]netip.Addr, error) {
	if err := c.Check(t); err != nil {
		return nil, err
	}
	if t.host.addr.IsValid() {
		return []netip.Addr{t.host.addr.Unmap()}, nil
	}
	name := t.host.name
	if !c.allow.names(t) {
		name += "." // never completed with a domain of the local network
	}
	found, err := c.options.Resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, &ConnectError{t.Host(), lookupFailure(t, err)}
	}
	if len(found) == 0 {
		return nil, &ConnectError{t.Host(), errors.New("the name doesn't resolve to an address")}
	}
	for i, a := range found {
		found[i] = a.Unmap()
		if err := c.judge(t, a); err != nil {
			return nil, err
		}
	}
	// IPv4 first: where IPv6 is broken, waiting for it would cost the time of the whole fetch.
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return found[:min(len(found), 4)], nil
}

func lookupFailure(t Target, err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Errorf("host %s not found. Check the spelling", t.host.name)
	}
	return fmt.Errorf("resolve the name: %w", err)
}

// connect makes the connection for a request to a target, and to nothing else.
func (c *Client) connect(ctx context.Context, t Target) (net.Conn, error) {
	proxy, err := c.proxyFor(t)
	if err != nil {
		return nil, err
	}
	if proxy != nil && c.allow.names(t) && !t.host.addr.IsValid() {
		return c.tunnel(ctx, proxy, net.JoinHostPort(t.host.name, t.port)) // vouched for by name; only the proxy may know it
	}
	addrs, err := c.resolve(ctx, t)
	var connect *ConnectError
	if proxy != nil && errors.As(err, &connect) {
		// Behind many proxies only they can look up names.
		connect.Err = fmt.Errorf("%w (Adze resolves names itself, not through the proxy, unless tools.webFetch.allowPrivateHosts lists the host)", connect.Err)
	}
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, a := range addrs {
		conn, err := c.dial(ctx, proxy, t, a)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, &ConnectError{t.Host(), errors.Join(failed...)}
}

// dial connects to one checked address.
func (c *Client) dial(ctx context.Context, proxy *proxy, t Target, a netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, errors.New("no response for 10 s"))
	defer cancel()
	address := net.JoinHostPort(a.String(), t.port)
	var conn net.Conn
	var err error
	switch {
	case proxy != nil:
		conn, err = c.tunnel(ctx, proxy, address)
	case c.options.Dial != nil:
		conn, err = c.options.Dial(ctx, "tcp", address)
	default:
		d := net.Dialer{Control: func(_, real string, _ syscall.RawConn) error { return c.controlled(t, real) }}
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%s: %w", address, context.Cause(ctx))
	}
	return conn, err
}

// controlled looks a last time at the address the system is about to connect to.
func (c *Client) controlled(t Target, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{t.Host(), "the address " + strings.ToValidUTF8(address, "?") + " is odd"}
	}
	return c.judge(t, ap.Addr())
}
