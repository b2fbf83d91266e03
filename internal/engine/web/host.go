package web

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// host is a host in canonical form.
type host struct {
	name string     // lower case, ASCII, no final dot; an address as itself, without brackets
	addr netip.Addr // valid if the host is an address
}

// String returns the host as in a URL.
func (h host) String() string {
	if h.addr.Is6() {
		return "[" + h.name + "]"
	}
	return h.name
}

// parseHost reads a host like browsers: names in any script, and addresses in the unusual spellings that resolvers
// accept (2130706433, 0x7f.1, 0177.0.0.1), so that none of them is taken for a name.
func parseHost(s string) (host, error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return host{}, errors.New("unclosed bracket")
		}
		return parseHost6(inner)
	}
	if strings.Contains(s, ":") {
		return parseHost6(s)
	}
	name, err := asciiName(s)
	if err != nil {
		return host{}, err
	}
	labels := strings.Split(name, ".")
	if !numeric(labels[len(labels)-1]) {
		return host{name: name}, checkLabels(labels)
	}
	addr, err := parseHost4(labels)
	return host{addr.String(), addr}, err
}

// ParseHost reads a host in any spelling: a name in lower case ASCII, or an address as itself. addr is valid if the
// host is an address.
func ParseHost(s string) (name string, addr netip.Addr, err error) {
	h, err := parseHost(s)
	return h.name, h.addr.Unmap(), err
}

func parseHost6(s string) (host, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() {
		return host{}, errors.New("it is not a valid IPv6 address")
	}
	if addr.Zone() != "" {
		return host{}, errors.New("an address with a zone belongs to one network interface")
	}
	return host{addr.String(), addr}, nil
}

// asciiName returns a name in lower case ASCII, without a final dot.
func asciiName(s string) (string, error) {
	if len(s) > 2000 {
		return "", fmt.Errorf("it has %d characters (maximum: 253)", len(s))
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			var err error
			if s, err = international(s); err != nil {
				return "", err
			}
			break
		}
	}
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	switch {
	case s == "":
		return "", errors.New("it is empty")
	case len(s) > 253:
		return "", fmt.Errorf("it has %d characters (maximum: 253)", len(s))
	}
	return s, nil
}

// international returns a name with letters of any script as it is looked up: in Punycode, which net/http writes to the
// header of a request. Characters that browsers replace by others, such as wide digits, are errors: their tables would
// make the program much larger, and a name that uses them is rarely meant well.
func international(name string) (string, error) {
	name = strings.ToLower(strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".").Replace(name))
	last := '.'
	for _, r := range name {
		mark := unicode.In(r, unicode.Mn, unicode.Mc)
		switch {
		case r == '.', r == '-', r == '_', r >= '0' && r <= '9', unicode.IsLetter(r) && !unicode.Is(replaced, r),
			mark && unicode.IsOneOf([]*unicode.RangeTable{unicode.Lo, unicode.Mn, unicode.Mc}, last):
		default:
			return "", fmt.Errorf("%q isn't allowed in it. Use its ASCII form (xn--…)", r)
		}
		last = r
	}
	var sent bytes.Buffer
	if err := (&http.Request{URL: &url.URL{Scheme: "http", Host: name}}).Write(&sent); err != nil {
		return "", errors.New("it is not a valid internationalized name")
	}
	read, err := http.ReadRequest(bufio.NewReader(&sent))
	if err != nil || read.Host == "" {
		return "", errors.New("it is not a valid internationalized name")
	}
	return read.Host, nil
}

// replaced are the blocks with other forms of letters: modifiers, letterlike symbols, compatibility and presentation
// forms, wide and mathematical letters.
var replaced = &unicode.RangeTable{
	R16: []unicode.Range16{{0x00AA, 0x00BA, 0x10}, {0x02B0, 0x02FF, 1}, {0x1D2C, 0x1D6A, 1}, {0x2071, 0x214F, 1},
		{0x3130, 0x318F, 1}, {0xF900, 0xFAFF, 1}, {0xFB00, 0xFFFF, 1}},
	R32: []unicode.Range32{{0x1D400, 0x1D7FF, 1}, {0x1EE00, 0x1EEFF, 1}, {0x2F800, 0x2FA1F, 1}},
}

func checkLabels(labels []string) error {
	for _, l := range labels {
		switch {
		case l == "":
			return errors.New("it contains two dots in a row")
		case len(l) > 63:
			return fmt.Errorf("the label %s… has %d characters (maximum: 63)", l[:20], len(l))
		case strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
			return errors.New("a name can contain only letters, digits, dots and hyphens")
		}
	}
	return nil
}

// numeric reports whether the last label makes the whole host an IPv4 address, valid or not.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// parseHost4 reads one to four numbers, decimal, octal or hexadecimal; the last one fills the remaining bytes.
func parseHost4(labels []string) (netip.Addr, error) {
	bad := errors.New("it is not a valid IPv4 address")
	if len(labels) > 4 {
		return netip.Addr{}, bad
	}
	var value uint64
	for i, l := range labels {
		n, ok := number4(l)
		last := i == len(labels)-1
		room := uint64(1) << (8 * (5 - len(labels)))
		if !ok || !last && n > 255 || last && n >= room {
			return netip.Addr{}, bad
		}
		if last {
			value = value*room + n
		} else {
			value = value<<8 + n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}

func number4(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "0x":
		return 0, true
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// localName returns why a name belongs to this machine or its network; "" if it may be public.
func localName(name string) string {
	switch name {
	case "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata", "instance-data",
		"instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com":
		return "serves cloud metadata"
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch last {
	case "localhost", "localdomain", "localdomain4", "localdomain6":
		return "is this machine"
	case "local", "internal", "intranet", "lan", "corp", "private", "localnet":
		return "is a local network name"
	}
	switch {
	case name == "home.arpa", strings.HasSuffix(name, ".home.arpa"):
		return "is a local network name"
	case !strings.Contains(name, "."):
		return "has no dot, so it is a local network name"
	}
	return ""
}
