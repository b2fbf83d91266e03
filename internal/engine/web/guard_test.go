package web

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// privateSpellings are URLs that lead to this machine, its network or a cloud's metadata. None may be dialed.
func privateSpellings() []string {
	return append(strings.Fields(`
http://127.0.0.1/ http://127.0.0.1:80/ http://127.0.0.1:8080/x https://127.0.0.1/ HTTP://127.0.0.1/ http://127.0.0.2/ http://127.255.255.255/
http://127.1/ http://127.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.0.0.1/ http://0x7F.1/ http://0177.0.0.1/ http://0177.1/ http://017700000001/
http://0x7f.0x0.0x0.0x1/ http://00000000177.0.0.1/ http://127.0.0.1./ http://0x7f.1./ http://127.000.000.001/ http://0x7f000001:443/ http://2130706433:1/
http://0/ http://0.0.0.0/ http://0.0.0.0:22/ http://0x0/ http://00/ http://0.1.2.3/ http://0./
http://10.0.0.1/ http://10.255.255.255/ http://10.1/ http://0xa.1/ http://012.0.0.1/ http://167772161/ http://172.16.0.1/ http://172.31.255.255/ http://172.20.1/
http://192.168.0.1/ http://192.168.1/ http://192.168.257/ http://0xc0.0xa8.1.1/ http://3232235777/ http://0300.0250.1.1/
http://169.254.169.254/ http://169.254.169.254/latest/meta-data/ http://169.254.1.1/ http://2852039166/ http://0xa9fea9fe/ http://0xa9.254.43518/ http://0251.0376.0251.0376/
http://168.63.129.16/ http://100.100.100.200/ http://100.64.0.1/ http://100.127.255.255/ http://192.0.0.192/ http://192.0.0.1/
http://192.0.2.1/ http://198.51.100.7/ http://203.0.113.9/ http://198.18.0.1/ http://198.19.255.255/ http://192.88.99.1/
http://224.0.0.1/ http://239.255.255.250:1900/ http://240.0.0.1/ http://255.255.255.255/ http://4294967295/ http://0xffffffff/
http://[::1]/ http://[::1]:8080/ https://[::1]/ http://[0:0:0:0:0:0:0:1]/ http://[0000:0000::0001]/ http://[::]/ http://[::0]/ http://[::]:22/
http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::FFFF:10.0.0.1]/ http://[0:0:0:0:0:ffff:192.168.0.1]/ http://[::ffff:169.254.169.254]/ http://[::ffff:a9fe:a9fe]/
http://[::127.0.0.1]/ http://[::7f00:1]/ http://[::10.0.0.1]/ http://[::a9fe:a9fe]/ http://[::8.8.8.8]/
http://[64:ff9b::127.0.0.1]/ http://[64:ff9b::7f00:1]/ http://[64:ff9b::10.0.0.1]/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::1]/ http://[64:ff9b:1::8.8.8.8]/
http://[2002:7f00:1::]/ http://[2002:a00:1::1]/ http://[2002:c0a8:101::]/ http://[2002:808:808::1]/
http://[2001::1]/ http://[2001:0:53aa:64c:0:f227:80ff:fffe]/ http://[2001:2::1]/ http://[2001:10::1]/ http://[2001:db8::1]/ http://[3fff::1]/
http://[fc00::1]/ http://[fd00::1]/ http://[fd00:ec2::254]/ http://[fd20:ce::254]/ http://[fdff:ffff::1]/
http://[fe80::1]/ http://[febf::1]/ http://[fec0::1]/ http://[ff02::1]/ http://[ff0e::1]/ http://[100::1]/ http://[5f00::1]/ http://[4000::1]/ http://[1::1]/ http://[0:ffff::1]/
http://[2606:4700::5efe:7f00:1]/ http://[2606:4700::200:5efe:10.0.0.1]/ http://[2606:4700::5efe:192.168.1.1]/
http://localhost/ http://LOCALHOST/ http://localhost./ http://localhost:3000/ https://localhost/ http://foo.localhost/ http://a.b.localhost./ http://localhost.localdomain/
http://LocalHost.LocalDomain/ http://ip6-localhost/ http://ip6-loopback/ http://broadcasthost/ http://kubernetes/ http://router/ http://host.docker.internal/ http://gateway.docker.internal/
http://metadata/ http://metadata.google.internal/ http://METADATA.GOOGLE.INTERNAL./ http://metadata.goog/ http://instance-data/ http://instance-data.ec2.internal/ http://x.internal/ http://metadata.tencentyun.com/
http://printer.local/ http://nas.lan/ http://wiki.corp/ http://x.intranet/ http://box.home.arpa/ http://home.arpa/
http://１２７.０.０.１/ http://127。0。0。1/ http://①②⑦.⓪.⓪.①/ http://ｌｏｃａｌｈｏｓｔ/ http://LOCALHOſT/ http://%E2%93%9B%E2%93%9E%E2%93%92%E2%93%90%E2%93%9B%E2%93%97%E2%93%9E%E2%93%A2%E2%93%A3/
http://127.0.0.1#@example.com/ http://127.0.0.1?@example.com/ http://localhost?.example.com http://localhost#.example.com
http://loop.test/ http://private.test/ http://cgnat.test/ http://meta.test/ http://mixed.test/ http://mixed6.test/ http://mapped.test/ http://nat64.test/ http://sixtofour.test/ http://teredo.test/
http://ula.test/ http://linklocal.test/ http://zero.test/ http://zero6.test/ http://multicast.test/ http://compatible.test/ http://zoned.test/ http://isatap.test/ http://docs.test/ http://azure.test/
http://LOOP.TEST/ http://loop.test./ https://loop.test/ http://loop.test:8080/ http://10.0.0.1.nip.test/ http://www.127.0.0.1.xip.test/
`),
		"  http://127.0.0.1/  ", "http://[::1]\n")
}

// privateNames are public-looking names and where they lead to.
func privateNames() map[string][]string {
	return map[string][]string{
		"loop.test": {"127.0.0.1"}, "private.test": {"10.1.2.3"}, "cgnat.test": {"100.64.1.1"}, "meta.test": {"169.254.169.254"},
		"mixed.test": {"93.184.216.34", "127.0.0.1"}, "mixed6.test": {"93.184.216.34", "::1"}, "mapped.test": {"::ffff:127.0.0.1"},
		"nat64.test": {"64:ff9b::7f00:1"}, "sixtofour.test": {"2002:7f00:1::1"}, "teredo.test": {"2001:0:1::1"}, "ula.test": {"fd12::1"},
		"linklocal.test": {"fe80::1"}, "zero.test": {"0.0.0.0"}, "zero6.test": {"::"}, "multicast.test": {"224.0.0.251"}, "compatible.test": {"::127.0.0.1"},
		"zoned.test": {"fe80::1%eth0"}, "isatap.test": {"2606:4700::5efe:7f00:1"}, "docs.test": {"192.0.2.1"}, "azure.test": {"168.63.129.16"},
		"10.0.0.1.nip.test": {"10.0.0.1"}, "www.127.0.0.1.xip.test": {"127.0.0.1"},
		// A resolver that answers local names must not matter: they are refused before.
		"localhost": {"93.184.216.34"}, "foo.localhost": {"93.184.216.34"}, "metadata.google.internal": {"93.184.216.34"}, "router": {"93.184.216.34"},
	}
}

func TestPrivateIsNeverDialled(t *testing.T) {
	spellings := privateSpellings()
	if len(spellings) < 150 {
		t.Fatalf("only %d spellings", len(spellings))
	}
	t.Logf("%d spellings", len(spellings))
	f := &fakeNet{names: privateNames()}
	c := f.client(t, Options{})
	for _, raw := range spellings {
		target, err := Parse(raw)
		if err != nil && strings.Contains(err.Error(), "isn't allowed in it") { // wide digits, circled letters
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		_, err = c.Fetch(t.Context(), target, Auto)
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: not refused but %v", raw, err)
		}
	}
	if d := f.dials(); len(d) > 0 {
		t.Errorf("%d dials to private addresses: %v", len(d), d)
	}
}

// Spellings that cannot be read, or must not be: nothing is looked up for them.
func TestBadURLs(t *testing.T) {
	long := strings.Repeat("a", 3000)
	for raw, want := range map[string]string{
		"": "it is empty", "   ": "it is empty", "example.com": "Add https://", "//example.com/": "Add https://", "/etc/passwd": "Add https://",
		"ftp://example.com/": "only http and https", "file:///etc/passwd": "only http and https", "gopher://127.0.0.1:70/_x": "only http and https",
		"javascript:alert(1)": "only http and https", "data:text/html,x": "only http and https", "ws://example.com": "only http and https", "unix:///run/x.sock": "only http and https",
		"http:": "no host", "http:/example.com": "no host", "http:///example.com": "no host", "http:example.com": "no host", "http://": "no host", "http://:80/": "host is not valid",
		"http://user:secret@example.com/": "user name or password", "http://user@example.com/": "user name or password", "http://@example.com/": "user name or password",
		"http://example.com@127.0.0.1/": "user name or password", "http://127.0.0.1:80@example.com/": "user name or password", "http://a:b@c@example.com/": "user name",
		`http://example.com\@127.0.0.1/`: "character", `http:\\127.0.0.1\`: "character", "http://exa mple.com/": "character", "http://example.com/a b": "character",
		"http://example.com/\x00": "character", "http://127.0.0.1\t/": "character", "http://127.0.0.1\n.example.com/": "character", "http://example.com/\r\nHost: x": "character",
		"http://exam\u200bple\u0000.com": "character", "http://<script>/": "character", "http://\xff\xfe/": "not UTF-8",
		"http://example.com:0/": "port", "http://example.com:65536/": "port", "http://example.com:99999999999/": "port", "http://example.com:8o/": "can't be parsed", "http://example.com:-1/": "can't be parsed",
		"http://[::1/": "can't be parsed", "http://::1/": "can't be parsed", "http://[::1]x/": "can't be parsed", "http://[fe80::1%25eth0]/": "zone", "http://[fe80::1%eth0]/": "can't be parsed",
		"http://[127.0.0.1]/": "can't be parsed", "http://[v1.x]/": "can't be parsed", "http://[:::1]/": "can't be parsed", "http://[]/": "can't be parsed",
		"http://256.0.0.1/": "IPv4", "http://1.2.3.4.5/": "IPv4", "http://1.2.3.256/": "IPv4", "http://4294967296/": "IPv4", "http://0x1ffffffff/": "IPv4", "http://08.0.0.1/": "IPv4", "http://127.0.0.0x1x.1/": "IPv4",
		"http://1..2/": "IPv4", "http://example..com/": "two dots", "http://.example.com/": "two dots", "http://example.com../": "two dots", "http://./": "empty", "http://../": "two dots",
		"http://127%2e0%2e0%2e1/": "can't be parsed", "http://%31%32%37.0.0.1/": "can't be parsed", "http://local%68ost/": "can't be parsed", "http://exa$mple.com/": "letters", "http://a,b/": "letters", "http://*.example.com/": "letters",
		"http://" + long + "/": "3000 characters", "http://" + long + ".com/": "characters", "http://" + strings.Repeat("a.", 140) + "com/": "maximum: 253", "http://" + strings.Repeat("a", 64) + ".com/": "maximum: 63",
		"http://example.com/" + strings.Repeat("x", 9000): "maximum: 8192", "http://xn--a.\u0345/": "", strings.Repeat("\x9b", 300): "not UTF-8",
	} {
		target, err := Parse(raw)
		var bad *URLError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, %v, want an error with %q", raw, target, err, want)
			continue
		}
		if msg := err.Error(); len(msg) > 400 || strings.Contains(msg, "secret") || strings.ContainsAny(msg, "\n\x00") {
			t.Errorf("%.60q: the message is long, or says too much: %q", raw, msg)
		}
	}
}

// Public hosts are dialed at the checked address.
func TestPublicIsDialled(t *testing.T) {
	names := map[string][]string{"example.com": {"93.184.216.34"}, "xn--bcher-kva.example": {"93.184.216.34"}, "six.test": {"2606:4700::1111"}, "nat.test": {"64:ff9b::8.8.8.8"},
		"both.test": {"2606:4700::1111", "93.184.216.34"}, "foo_bar.test": {"93.184.216.34"}}
	for raw, want := range map[string]string{
		"http://example.com/":               "93.184.216.34:443 93.184.216.34:80", // https first
		"https://example.com/":              "93.184.216.34:443",
		"http://example.com:80/":            "93.184.216.34:443 93.184.216.34:80",
		"http://example.com:/":              "93.184.216.34:443 93.184.216.34:80",
		"http://example.com:8080/":          "93.184.216.34:8080",
		"http://example.com:443/":           "93.184.216.34:443",
		"https://example.com:80/":           "93.184.216.34:80",
		"https://EXAMPLE.com.:443/":         "93.184.216.34:443",
		"https://bücher.example/":           "93.184.216.34:443",
		"https://foo_bar.test/":             "93.184.216.34:443",
		"https://8.8.8.8/":                  "8.8.8.8:443",
		"http://8.8.8.8/":                   "8.8.8.8:80",
		"https://0x08.0x08.2056/":           "8.8.8.8:443",
		"https://134744072/":                "8.8.8.8:443",
		"https://[2606:4700::1111]/":        "[2606:4700::1111]:443",
		"https://[::ffff:8.8.8.8]/":         "8.8.8.8:443",
		"https://[64:ff9b::8.8.8.8]/":       "[64:ff9b::808:808]:443",
		"https://six.test/":                 "[2606:4700::1111]:443",
		"https://nat.test/":                 "[64:ff9b::808:808]:443",
		"https://both.test/":                "93.184.216.34:443 [2606:4700::1111]:443",
		"https://172.32.0.1/":               "172.32.0.1:443",
		"https://100.128.0.1/":              "100.128.0.1:443",
		"https://example.com/#@127.0.0.1":   "93.184.216.34:443",
		"https://example.com/?u=//10.0.0.1": "93.184.216.34:443",
		"https://nowhere.test/":             "",
	} {
		f := &fakeNet{names: names}
		_, err := fetch(t, f.client(t, Options{}), raw)
		var connect *ConnectError
		if !errors.As(err, &connect) {
			t.Errorf("%s: got %v", raw, err)
		}
		if got := strings.Join(f.dials(), " "); got != want {
			t.Errorf("%s: dialled %q, want %q", raw, got, want)
		}
	}
}

// A host that was allowed is reached, and nothing beside it.
func TestAllowPrivate(t *testing.T) {
	names := map[string][]string{"wiki.corp": {"10.0.0.7"}, "meta.corp": {"169.254.169.254"}, "example.com": {"93.184.216.34"}}
	for _, c := range []struct {
		allow, url, dials string
	}{
		{"localhost:8080", "http://localhost:8080/", "error"}, // its address is unknown
		{"127.0.0.1:8080", "http://127.0.0.1:8080/", "127.0.0.1:8080"},
		{"127.0.0.1:8080", "http://0x7f.1:8080/", "127.0.0.1:8080"},
		{"127.0.0.1:8080", "http://127.0.0.1:8081/", "refused"},
		{"127.0.0.1:80", "http://127.0.0.1/", "127.0.0.1:80"},
		{"127.0.0.1", "http://127.0.0.1:9/", "127.0.0.1:9"},
		{"127.0.0.1", "http://127.0.0.2/", "refused"},
		{"[::1]:80", "http://[::1]/", "[::1]:80"},
		{"::1", "http://[::1]:81/", "[::1]:81"},
		{"WIKI.corp.", "http://wiki.corp/", "10.0.0.7:80"}, // and no https first
		{"wiki.corp", "http://evil-wiki.corp/", "refused"},
		{"wiki.corp", "http://wiki.corp.example.com/", "error"},
		{"10.0.0.7", "http://wiki.corp/", "refused"},
		{"meta.corp", "http://meta.corp/", "refused"}, // a name opens no metadata
		{"169.254.169.254", "http://169.254.169.254/", "169.254.169.254:80"},
	} {
		f := &fakeNet{names: names}
		_, err := fetch(t, f.client(t, Options{AllowPrivate: []string{c.allow}}), c.url)
		got := strings.Join(f.dials(), " ")
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			got += "refused"
		case got == "" && err != nil:
			got = "error"
		}
		if got != c.dials {
			t.Errorf("allow %s, fetch %s: got %q (%v), want %q", c.allow, c.url, got, err, c.dials)
		}
	}
	for _, bad := range []string{"", "http://x/", "a b", "host:0", "host:99999", "*.corp", "[::1", "fe80::1%eth0"} {
		if _, err := New(Options{AllowPrivate: []string{bad}}); err == nil {
			t.Errorf("allowing %q is not refused", bad)
		}
	}
}

// The system's own dialer looks at the address a last time: what the resolver said does not matter to it.
func TestControl(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.dial(t.Context(), nil, target, netip.MustParseAddr("127.0.0.1"), c.judge); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a dial to 127.0.0.1: %v", err)
	}
	if err := controlled(target, "not an address", c.judge); err == nil {
		t.Error("an odd address passes")
	}
}

// Every number of an address, however it is spelled, is judged as the address.
func TestSpellingsOfOneAddress(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		v := r.Uint32()
		if r.IntN(2) == 0 { // more of those that matter
			v = []uint32{0x7f000001, 0x0a000001, 0xa9fea9fe, 0xc0a80001, 0xac100001, 0}[r.IntN(6)] + uint32(r.IntN(200))
		}
		addr := netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
		for _, s := range spell(r, v) {
			h, err := parseHost(s)
			if err != nil || h.addr != addr {
				t.Fatalf("%s: got %v, %v, want %s", s, h, err, addr)
			}
		}
		b := addr.As4()
		mapped := netip.MustParseAddr(fmt.Sprintf("::ffff:%x:%x", v>>16, v&0xffff))
		translated := netip.MustParseAddr(fmt.Sprintf("64:ff9b::%d.%d.%d.%d", b[0], b[1], b[2], b[3]))
		if reserved(addr) != reserved(mapped) || reserved(addr) != reserved(translated) {
			t.Fatalf("%s is %q, but mapped %q and translated %q", addr, reserved(addr), reserved(mapped), reserved(translated))
		}
	}
}

// spell writes an IPv4 address in one to four numbers of any base.
func spell(r *rand.Rand, v uint32) []string {
	var all []string
	for parts := 1; parts <= 4; parts++ {
		var labels []string
		for i := range parts - 1 {
			labels = append(labels, number(r, uint64(byte(v>>(24-8*i)))))
		}
		rest := uint64(v) & (1<<(8*(5-parts)) - 1)
		labels = append(labels, number(r, rest))
		all = append(all, strings.Join(labels, "."))
	}
	return all
}

func number(r *rand.Rand, n uint64) string {
	return fmt.Sprintf([]string{"%d", "0%o", "0x%x", "0X%X", "0x0000%x", "000%o"}[r.IntN(6)], n)
}

// reserved agrees with what package netip knows of addresses, for as much as that is.
func FuzzReserved(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "::1", "8.8.8.8", "2606:4700::1", "64:ff9b::a00:1", "::ffff:10.0.0.1"} {
		f.Add(slices.Clone(netip.MustParseAddr(s).AsSlice()))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		u := a.Unmap()
		bad := u.IsPrivate() || u.IsLoopback() || u.IsUnspecified() || u.IsMulticast() || u.IsLinkLocalUnicast() || !u.IsGlobalUnicast()
		if bad && reserved(a) == "" {
			t.Errorf("%s is not public, and passes", a)
		}
		if metadata(a) && reserved(a) == "" {
			t.Errorf("%s serves metadata, and passes", a)
		}
	})
}

// For any URL, only public addresses are dialed, and a parsed URL parses the same again.
func FuzzFetchURL(f *testing.F) {
	for _, s := range privateSpellings() {
		f.Add(s)
	}
	f.Add("https://example.com/a/../b?q=%20#x")
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := Parse(raw)
		if err != nil {
			return
		}
		again, err := Parse(target.String())
		if err != nil || again.String() != target.String() || again.host != target.host || again.port != target.port {
			t.Fatalf("%q reads as %q, and that as %q (%v)", raw, target, again, err)
		}
		n := &fakeNet{names: map[string][]string{target.host.name: {"93.184.216.34"}}}
		for name, addrs := range privateNames() {
			n.names[name] = addrs
		}
		_, err = n.client(t, Options{}).Fetch(t.Context(), target, Auto)
		if err == nil {
			t.Fatalf("%q was fetched from nowhere", raw)
		}
		for _, d := range n.dials() {
			ap, err := netip.ParseAddrPort(d)
			if err != nil || reserved(ap.Addr()) != "" {
				t.Fatalf("%q: dialled %s", raw, d)
			}
		}
	})
}
