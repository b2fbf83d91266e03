package broker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/web"
)

// outside is the network outside: names, their addresses and a listener that all connections reach.
type outside struct {
	mu     sync.Mutex
	names  map[string][]string // addresses
	asked  []string            // names that were looked up
	dialed []string
	to     map[string]string // where an address with its port really is
	got    bytes.Buffer      // what was sent there
}

func (o *outside) LookupNetIP(_ context.Context, _, name string) (out []netip.Addr, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	o.asked = append(o.asked, name)
	for _, a := range o.names[name] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Name: name, IsNotFound: true}
	}
	return out, nil
}

func (o *outside) dial(ctx context.Context, network, address string) (net.Conn, error) {
	o.mu.Lock()
	o.dialed = append(o.dialed, address)
	to, ok := o.to[address]
	o.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no route to %s", address)
	}
	c, err := new(net.Dialer).DialContext(ctx, network, to)
	return &tapped{c, o}, err
}

type tapped struct {
	net.Conn
	o *outside
}

func (c *tapped) Write(p []byte) (int, error) {
	c.o.mu.Lock()
	c.o.got.Write(p)
	c.o.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *tapped) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

func (o *outside) sent() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got.String()
}

const public = "203.0.113.7"

// open opens a broker that allows hosts, and the network outside of it.
func open(t *testing.T, allow ...string) (*Broker, *outside, string) {
	t.Helper()
	plain := httptest.NewServer(http.HandlerFunc(serve))
	secure := httptest.NewTLSServer(http.HandlerFunc(serve))
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	o := &outside{
		names: map[string][]string{"registry.example.com": {public}, "inner.example.com": {public, "10.0.0.8"},
			"meta.example.com": {"169.254.169.254"}, "other.example.com": {public}},
		to: map[string]string{public + ":80": plain.Listener.Addr().String(),
			public + ":443": secure.Listener.Addr().String(), public + ":22": plain.Listener.Addr().String()},
	}
	b, proxy := start(t, Options{
		Client: client(t, web.Options{Resolver: o, Dial: o.dial}),
		Decide: func(_ context.Context, g Target) error {
			if slices.Contains(allow, g.Host) && g.Usual() || slices.Contains(allow, g.String()) {
				return nil
			}
			return errors.New("denied: Network(" + g.Host + ")")
		},
		Check: func(_ context.Context, g Target, a netip.Addr, private string) error {
			if private != "" {
				return fmt.Errorf("%s is %s", a, private)
			}
			return nil
		},
	})
	return b, o, proxy
}

// start serves a broker. Without Check, every address is allowed.
func start(t *testing.T, o Options) (b *Broker, proxy string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Check == nil {
		o.Check = func(context.Context, Target, netip.Addr, string) error { return nil }
	}
	b = Serve(l, o)
	t.Cleanup(b.Close)
	return b, l.Addr().String()
}

func client(t *testing.T, o web.Options) *web.Client {
	t.Helper()
	c, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/away" {
		http.Redirect(w, r, "http://evil.example.com/"+string(body), http.StatusFound)
		return
	}
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL, body)
}

func via(proxy string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}),
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
}

func TestForwardsAndTunnels(t *testing.T) {
	b, o, proxy := open(t, "registry.example.com")
	for _, scheme := range []string{"http", "https"} {
		resp, err := via(proxy).Post(scheme+"://registry.example.com/a?b", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		if want := "POST registry.example.com /a?b body"; string(got) != want {
			t.Errorf("%s: %q, want %q", scheme, got, want)
		}
	}
	if want := []string{public + ":80", public + ":443"}; !slices.Equal(o.dialed, want) {
		t.Errorf("dialed %v, want %v", o.dialed, want)
	}
	uses := b.Uses()
	if len(uses) != 2 || uses[0].Host != "registry.example.com" || uses[0].Sent < 100 || uses[1].Received < 100 {
		t.Errorf("%+v", uses)
	}
}

// A name that isn't allowed isn't looked up either: that would tell a server of its domain.
func TestDeniedNamesAreNotResolved(t *testing.T) {
	b, o, proxy := open(t, "registry.example.com")
	for _, u := range []string{"http://secret-in-a-name.evil.example.com/", "https://evil.example.com/",
		"http://registry.example.com.evil.example.com/", "http://registry.example.com:8080/", "http://127.0.0.1/",
		"http://0x7f.1/", "http://[::1]/"} {
		resp, err := via(proxy).Get(u)
		if err == nil && resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", u, resp.Status)
		}
	}
	if len(o.asked)+len(o.dialed) > 0 || o.sent() != "" {
		t.Errorf("asked %v, dialed %v, sent %q", o.asked, o.dialed, o.sent())
	}
	for _, u := range b.Uses() {
		if u.Failure == "" || u.Sent != 0 {
			t.Errorf("%+v", u)
		}
	}
}

// All addresses of a name are checked before anything is sent to one of them.
func TestPrivateAddresses(t *testing.T) {
	b, o, proxy := open(t, "inner.example.com", "meta.example.com", "10.0.0.8")
	for _, u := range []string{"http://inner.example.com/", "https://inner.example.com/", "http://meta.example.com/",
		"http://10.0.0.8/"} {
		resp, err := via(proxy).Get(u)
		if err == nil && resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %s", u, resp.Status)
		}
	}
	if len(o.dialed) > 0 {
		t.Errorf("dialed %v", o.dialed)
	}
	if u := b.Uses(); !strings.Contains(u[0].Failure, "10.0.0.8 is private") {
		t.Errorf("%+v", u)
	}
}

// raw sends text to the broker, and returns everything that comes back until the connection closes.
func raw(t *testing.T, proxy string, parts ...string) string {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	var got strings.Builder
	for i, p := range parts {
		io.WriteString(c, p)
		if i < len(parts)-1 { // the answer to CONNECT
			for line := ""; line != "\r\n"; {
				if line, err = r.ReadString('\n'); err != nil {
					return got.String()
				}
				got.WriteString(line)
			}
		}
	}
	c.(*net.TCPConn).CloseWrite()
	rest, _ := io.ReadAll(r)
	return got.String() + string(rest)
}

const connect = "CONNECT registry.example.com:443 HTTP/1.1\r\nHost: registry.example.com:443\r\n\r\n"

// Nothing reaches an allowed host over a tunnel that isn't TLS for that host.
func TestOnlyTLSOfTheHost(t *testing.T) {
	b, o, proxy := open(t, "registry.example.com", "registry.example.com:22")
	hello := func(name string, more ...func(*tls.Config)) string {
		var out bytes.Buffer
		config := &tls.Config{ServerName: name, InsecureSkipVerify: true}
		for _, f := range more {
			f(config)
		}
		tls.Client(&recorder{out: &out}, config).Handshake()
		return out.String()
	}
	for name, first := range map[string]string{
		"no TLS": "GET / HTTP/1.1\r\nHost: registry.example.com\r\n\r\n", "SSH": "SSH-2.0-x\r\n",
		"HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "another name": hello("evil.example.com"), "no name": hello(""),
		"not TLS after all": "\x16\x03\x01\x00\x05secret-data-here-and-more",
		"old":               "\x80\x2e\x01\x00\x02\x00\x15",
		"a longer name":     hello("registry.example.com.evil.example.com"),
	} {
		if got := raw(t, proxy, connect, first); strings.Count(got, "\r\n") != 2 {
			t.Errorf("%s: %q", name, got)
		}
		if o.sent() != "" {
			t.Errorf("%s: sent %q", name, o.sent())
			o.got.Reset()
		}
	}
	if u := b.Uses(); len(u) != 1 || u[0].Failure == "" || u[0].Sent != 0 {
		t.Errorf("%+v", u)
	}
	if raw(t, proxy, connect, hello("Registry.Example.com")); !strings.Contains(o.sent(), "Registry.Example.com") {
		t.Error("the name in upper case didn't arrive")
	}
	o.got.Reset()
	other := strings.ReplaceAll(connect, ":443", ":22")
	if raw(t, proxy, other, "SSH-2.0-x\r\n"); o.sent() != "SSH-2.0-x\r\n" {
		t.Errorf("a port that a rule names: %q", o.sent())
	}
	o.got.Reset()
	if raw(t, proxy, other, hello("evil.example.com")); o.sent() != "" {
		t.Errorf("TLS for another host, there: %q", o.sent())
	}
}

// recorder keeps what is written, and has nothing to read.
type recorder struct {
	net.Conn
	out *bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error)      { return r.out.Write(p) }
func (r *recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recorder) Close() error                     { return nil }
func (r *recorder) SetDeadline(time.Time) error      { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// A server name that is encrypted can't be checked.
func TestEncryptedServerName(t *testing.T) {
	_, o, proxy := open(t, "registry.example.com")
	// A ClientHello with the name and an (empty) extension of that kind.
	name := "registry.example.com"
	u16 := func(n int) string { return string([]byte{byte(n >> 8), byte(n)}) }
	sni := "\x00\x00" + u16(len(name)+5) + u16(len(name)+3) + "\x00" + u16(len(name)) + name
	versions := "\x00\x2b\x00\x03\x02\x03\x04"
	ech := "\xfe\x0d\x00\x01\x01"
	for _, extensions := range []string{sni + versions + ech, sni + versions} {
		body := "\x03\x03" + strings.Repeat("r", 32) + "\x00" + "\x00\x02\x13\x01" + "\x01\x00" + u16(len(extensions)) +
			extensions
		message := "\x01\x00" + u16(len(body)) + body
		raw(t, proxy, connect, "\x16\x03\x01"+u16(len(message))+message)
		if refused := strings.Contains(extensions, ech); (o.sent() == "") != refused {
			t.Errorf("encrypted %v: sent %q", refused, o.sent())
		}
	}
}

// A second request in the first one's body, or a header that another program would read differently, reaches no other
// host.
func TestSmuggling(t *testing.T) {
	_, o, proxy := open(t, "registry.example.com")
	hidden := "GET http://evil.example.com/secret HTTP/1.1\r\nHost: evil.example.com\r\n\r\n"
	for name, request := range map[string]string{
		"both lengths": "POST http://registry.example.com/ HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 4\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two lengths": "POST http://registry.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 90\r\n" +
			"\r\nabcd" + hidden,
		"odd encoding": "POST http://registry.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" +
			"0\r\n\r\n" + hidden,
		"space": "POST http://registry.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\nabcd" + hidden,
		"bare line feeds": "GET http://registry.example.com/ HTTP/1.1\nHost: x\nX: a\r\rGET http://evil.example.com/ " +
			"HTTP/1.1\n\n" + hidden,
		"another Host": "GET http://registry.example.com/ HTTP/1.1\r\nHost: evil.example.com\r\n\r\n" + hidden,
		"user":         "GET http://registry.example.com@evil.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n" + hidden,
		"CONNECT":      "CONNECT /x HTTP/1.1\r\nHost: registry.example.com:443\r\n\r\n" + hidden,
		"HTTP/2":       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden,
		"upgrade": "GET http://registry.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, X-Secret\r\n" +
			"Upgrade: websocket\r\nX-Secret: 1\r\n\r\n" + hidden,
		"port 443": "GET http://registry.example.com:443/ HTTP/1.1\r\nHost: registry.example.com\r\n\r\n",
	} {
		raw(t, proxy, request)
		for _, word := range []string{"evil", "Upgrade", "X-Secret"} {
			if strings.Contains(o.sent(), word) {
				t.Errorf("%s: sent %q", name, o.sent())
			}
		}
		o.got.Reset()
	}
	if slices.ContainsFunc(o.asked, func(name string) bool { return strings.Contains(name, "evil") }) ||
		slices.Contains(o.dialed, public+":443") {
		t.Errorf("asked %v, dialed %v", o.asked, o.dialed)
	}
}

func TestRedirectIsNewRequest(t *testing.T) {
	_, o, proxy := open(t, "registry.example.com")
	resp, err := via(proxy).Get("http://registry.example.com/away")
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v, %v", resp, err)
	}
	if slices.Contains(o.asked, "evil.example.com") {
		t.Error("the host of the redirect was looked up")
	}
}

// A name that has another address the second time is checked again.
func TestRebinding(t *testing.T) {
	_, o, proxy := open(t, "registry.example.com")
	if _, err := via(proxy).Get("https://registry.example.com/"); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	o.names["registry.example.com"] = []string{"127.0.0.1"}
	o.mu.Unlock()
	if resp, err := via(proxy).Get("https://registry.example.com/"); err == nil {
		t.Error(resp.Status)
	}
	if slices.Contains(o.dialed, "127.0.0.1:443") {
		t.Errorf("dialed %v", o.dialed)
	}
}

// The first connection to a host waits for the decision; there is one for all connections to it.
func TestManyConnectionsAskOnce(t *testing.T) {
	_, o, _ := open(t)
	var mu sync.Mutex
	asked := 0
	yes := make(chan struct{})
	b, proxy := start(t, Options{
		Client: client(t, web.Options{Resolver: o, Dial: o.dial}),
		Decide: func(ctx context.Context, _ Target) error {
			mu.Lock()
			asked++
			mu.Unlock()
			<-yes
			return nil
		},
	})
	const n = 500
	results := make(chan error, n)
	var conns []net.Conn
	for range n {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET http://registry.example.com/ HTTP/1.0\r\n\r\n")
		conns = append(conns, c)
	}
	close(yes)
	for _, c := range conns {
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
			results <- err
		}()
	}
	for range n {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || b.Held() <= 0 {
		t.Errorf("asked %d times, held %v", asked, b.Held())
	}
}

// Close ends tunnels and questions.
func TestClose(t *testing.T) {
	_, o, _ := open(t)
	asked, tunneled := make(chan struct{}), make(chan struct{})
	b, proxy := start(t, Options{
		Client: client(t, web.Options{Resolver: o, Dial: o.dial}),
		Decide: func(ctx context.Context, t Target) error {
			if t.Port == "22" {
				close(tunneled)
				return nil
			}
			close(asked)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	over := make(chan string, 2)
	for _, port := range []string{":22", ":443"} {
		go func() { over <- raw(t, proxy, strings.ReplaceAll(connect, ":443", port), "") }()
	}
	<-asked
	<-tunneled
	b.Close()
	<-over
	<-over
}

// With a proxy of the user's own, that one learns the checked address of an allowed host, and nothing of others.
func TestUpstreamProxy(t *testing.T) {
	_, o, _ := open(t)
	var mu sync.Mutex
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer upstream.Close()
	to, _ := url.Parse(upstream.URL)
	_, proxy := start(t, Options{
		Client: client(t, web.Options{Resolver: o, Proxy: http.ProxyURL(to)}),
		Decide: func(_ context.Context, g Target) error {
			if g.Host != "registry.example.com" {
				return errors.New("denied")
			}
			return nil
		},
	})
	for _, at := range []string{"https://other.example.com/", "http://other.example.com/", "https://registry.example.com/"} {
		if resp, err := via(proxy).Get(at); err == nil && resp.StatusCode < 400 {
			t.Errorf("%s: %s", at, resp.Status)
		}
	}
	if want := []string{"CONNECT " + public + ":443"}; !slices.Equal(asked, want) {
		t.Errorf("the upstream proxy got %q, want %q", asked, want)
	}
}
