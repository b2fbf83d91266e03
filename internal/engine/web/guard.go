package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// RefusedError reports a target that isn't on the public Internet. Nothing was sent to it.
type RefusedError struct {
	Host   string
	Reason string // "127.0.0.1 is loopback"
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is not fetched: %s", e.Host, e.Reason)
}

// ConnectError reports that a host couldn't be reached, or closed the connection before it responded.
type ConnectError struct {
	Host string
	Err  error
}

func (e *ConnectError) Error() string { return fmt.Sprintf("reach %s: %v", e.Host, e.Err) }

func (e *ConnectError) Unwrap() error { return e.Err }

// Check returns a *[RefusedError] for what the URL alone shows: a private address in any spelling, a name of this
// machine or its network. It resolves no names; Fetch checks again when it connects.
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

// resolve returns the addresses of a target. If any of them isn't public the target is rejected: a host that mixes them
// is suspicious, and which one would be dialed is random.
func (c *Client) resolve(ctx context.Context, t Target) ([]netip.Addr, error) {
	if err := c.Check(t); err != nil {
		return nil, err
	}
	if t.host.addr.IsValid() {
		return []netip.Addr{t.host.addr.Unmap()}, nil
	}
	name := t.host.name
	if !c.allow.names(t) {
		name += "." // so that no domain of the local network is appended
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
	// IPv4 first: if IPv6 is broken, waiting for it would take the time of the whole fetch.
	sort.SliceStable(found, func(i, j int) bool { return found[i].BitLen() < found[j].BitLen() })
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
		// allowed by name; only the proxy may resolve it
		return c.tunnel(ctx, proxy, net.JoinHostPort(t.host.name, t.port))
	}
	addrs, err := c.resolve(ctx, t)
	var connect *ConnectError
	if proxy != nil && errors.As(err, &connect) {
		// Behind many proxies only they can resolve names.
		connect.Err = fmt.Errorf("%w (Adze resolves names itself, not through the proxy, unless "+
			"tools.webFetch.allowPrivateHosts lists the host)", connect.Err)
	}
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, a := range addrs {
		conn, err := c.dial(ctx, proxy, t, a, c.judge)
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
func (c *Client) dial(
	ctx context.Context, proxy *proxy, t Target, a netip.Addr, judge func(Target, netip.Addr) error,
) (net.Conn, error) {
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
		d := net.Dialer{Control: func(_, real string, _ syscall.RawConn) error { return controlled(t, real, judge) }}
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%s: %w", address, context.Cause(ctx))
	}
	return conn, err
}

// controlled checks the address again right before connecting.
func controlled(t Target, address string, judge func(Target, netip.Addr) error) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{t.Host(), "the address " + strings.ToValidUTF8(address, "?") + " is odd"}
	}
	return judge(t, ap.Addr())
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

// allowList are the hosts that may be contacted at any address.
type allowList []allowed

type allowed struct {
	host host
	port string // "": every port
}

// CheckAllowed returns an error for an invalid entry of [Options].AllowPrivate.
func CheckAllowed(entry string) error {
	_, err := parseAllowList([]string{entry})
	return err
}

func parseAllowList(entries []string) (allowList, error) {
	var list allowList
	for _, e := range entries {
		a, err := parseAllowed(strings.TrimSpace(e))
		if err != nil {
			return nil, fmt.Errorf("invalid private host %q: %w (expected host or host:port)", shown(e), err)
		}
		list = append(list, a)
	}
	return list, nil
}

func parseAllowed(entry string) (allowed, error) {
	if strings.Contains(entry, "://") {
		return allowed{}, errors.New("it is a URL")
	}
	name, port := entry, ""
	if i := strings.LastIndexByte(entry, ':'); i >= 0 &&
		(strings.Count(entry, ":") == 1 || strings.HasSuffix(entry[:i], "]")) {
		name, port = entry[:i], entry[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return allowed{}, fmt.Errorf("its port is not between 1 and 65535")
		}
		port = strconv.FormatUint(n, 10)
	}
	h, err := parseHost(name)
	return allowed{h, port}, err
}

// names reports whether the list has the host of a target.
func (l allowList) names(t Target) bool {
	for _, a := range l {
		if a.host == t.host && (a.port == "" || a.port == t.port) {
			return true
		}
	}
	return false
}

// opens reports whether a target in the list may be contacted at an address.
func (l allowList) opens(t Target, a netip.Addr) bool {
	return l.names(t) && (!metadata(a) || t.host.addr.IsValid())
}

// block is a range of addresses that aren't public.
type block struct {
	prefix netip.Prefix
	why    string
}

func blocks(pairs ...string) []block {
	var bs []block
	for i := 0; i < len(pairs); i += 2 {
		bs = append(bs, block{netip.MustParsePrefix(pairs[i]), pairs[i+1]})
	}
	return bs
}

const forDocumentation = "for documentation"

// reserved4 are the IPv4 ranges without hosts on the Internet (IANA's special-purpose registry), and the addresses in
// public ranges at which clouds serve their own machines.
var reserved4 = blocks(
	"0.0.0.0/8", "unspecified",
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "carrier-grade NAT",
	"127.0.0.0/8", "loopback",
	"168.63.129.16/32", "cloud metadata",
	"169.254.0.0/16", "link-local, where cloud metadata is served",
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "reserved for protocols",
	"192.0.2.0/24", forDocumentation,
	"192.88.99.0/24", "a 6to4 relay",
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "for benchmarks",
	"198.51.100.0/24", forDocumentation,
	"203.0.113.0/24", forDocumentation,
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved or broadcast",
)

// reserved6 are the special ranges inside 2000::/3. Everything outside it is not public.
var reserved6 = blocks(
	"2001::/23", "reserved for protocols (Teredo among them)",
	"2001:db8::/32", forDocumentation,
	"2002::/16", "6to4, which embeds an IPv4 address",
	"3fff::/20", forDocumentation,
)

var (
	public6 = netip.MustParsePrefix("2000::/3")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	local6  = blocks(
		"::/128", "unspecified",
		"::1/128", "loopback",
		"::/96", "an IPv4 address in a deprecated notation",
		"64:ff9b:1::/48", "translated inside a network",
		"100::/64", "discarded",
		"fc00::/7", "private (ULA)",
		"fe80::/10", "link-local",
		"fec0::/10", "private (site-local)",
		"ff00::/8", "multicast",
	)
)

// reserved returns why an address isn't public; "" if it is.
func reserved(a netip.Addr) string {
	if a.Zone() != "" {
		return "local to one network interface"
	}
	a = a.Unmap()
	if a.Is4() {
		return within(a, reserved4)
	}
	if !a.IsValid() {
		return "not an address"
	}
	b := a.As16()
	if nat64.Contains(a) { // how an IPv6-only network reaches the IPv4 Internet
		return within(netip.AddrFrom4([4]byte(b[12:])), reserved4)
	}
	if !public6.Contains(a) {
		if why := within(a, local6); why != "" {
			return why
		}
		return "not assigned to the Internet"
	}
	if why := within(a, reserved6); why != "" {
		return why
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP: the rest is an IPv4 address
		return within(netip.AddrFrom4([4]byte(b[12:])), reserved4)
	}
	return ""
}

func within(a netip.Addr, bs []block) string {
	for _, b := range bs {
		if b.prefix.Contains(a) {
			return b.why
		}
	}
	return ""
}

// metadata reports whether clouds serve credentials at an address. Only the address itself allows it, never a name.
func metadata(a netip.Addr) bool {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is4() {
		b := a.As4()
		return b[0] == 169 && b[1] == 254 || a == netip.AddrFrom4([4]byte{168, 63, 129, 16}) ||
			a == netip.AddrFrom4([4]byte{100, 100, 100, 200}) || a == netip.AddrFrom4([4]byte{192, 0, 0, 192})
	}
	return a == netip.MustParseAddr("fd00:ec2::254") || a == netip.MustParseAddr("fd20:ce::254") ||
		a.IsLinkLocalUnicast()
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
