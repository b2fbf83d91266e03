package web

import (
	"net/netip"
)

// block is a range of addresses that are not of the public Internet.
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

// reserved4 are the IPv4 ranges without hosts on the Internet (IANA's special-purpose registry), and the
// addresses in public ranges at which clouds answer their own machines.
var reserved4 = blocks(
	"0.0.0.0/8", "unspecified",
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "carrier-grade NAT",
	"127.0.0.0/8", "loopback",
	"168.63.129.16/32", "cloud metadata",
	"169.254.0.0/16", "link-local, where cloud metadata is served",
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "reserved for protocols",
	"192.0.2.0/24", "for documentation",
	"192.88.99.0/24", "a 6to4 relay",
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "for benchmarks",
	"198.51.100.0/24", "for documentation",
	"203.0.113.0/24", "for documentation",
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved or broadcast",
)

// reserved6 are the special ranges inside 2000::/3. Everything outside it is not public.
var reserved6 = blocks(
	"2001::/23", "reserved for protocols (Teredo among them)",
	"2001:db8::/32", "for documentation",
	"2002::/16", "6to4, which embeds an IPv4 address",
	"3fff::/20", "for documentation",
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

// reserved says why an address is not one of the public Internet; "" if it is.
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
	if nat64.Contains(a) { // an IPv6-only network reaches the whole IPv4 Internet so
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

// metadata reports whether clouds hand out credentials at an address. A name never opens it, only the address itself.
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
	return a == netip.MustParseAddr("fd00:ec2::254") || a == netip.MustParseAddr("fd20:ce::254") || a.IsLinkLocalUnicast()
}
