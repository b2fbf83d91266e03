package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// tunnels is a proxy that notes what it is asked for, and leads every tunnel to one server.
type tunnels struct {
	to     string
	status int

	mu    sync.Mutex
	asked []string
	auth  string
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.auth = r.Header.Get("Proxy-Authorization")
	p.mu.Unlock()
	if p.status != 0 || r.Method != http.MethodConnect {
		http.Error(w, "no", max(p.status, 400))
		return
	}
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	join(near, far)
}

// join carries bytes both ways until one side ends.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			io.Copy(pair[0], pair[1])
			pair[0].Close()
			pair[1].Close()
		})
	}
	wg.Wait()
}

func (p *tunnels) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.asked, ", ")
}

// A proxy on a private address is used, but only for targets that were checked, and only by address.
func TestProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	defer server.Close()
	for _, x := range []struct{ url, allow, body, asked, dialed string }{
		{"http://example.com:8080/", "", "example.com:8080", "CONNECT 93.184.216.34:8080", "10.0.0.9:3128"},
		{"http://8.8.8.8/", "", "8.8.8.8", "CONNECT 8.8.8.8:80", "10.0.0.9:3128"},
		{"http://127.0.0.1/", "", "refused", "", ""},
		{"http://loop.test/", "", "refused", "", ""},
		{"http://mixed.test:1/", "", "refused", "", ""},
		{"http://localhost/", "", "refused", "", ""},
		{"http://only-the-proxy-knows.test/", "", "error", "", ""},
		{"http://only-the-proxy-knows.test/", "only-the-proxy-knows.test", "only-the-proxy-knows.test", "CONNECT only-the-proxy-knows.test:80", "10.0.0.9:3128"},
		{"http://direct.test:8080/", "", "error", "", "93.184.216.34:8080"},
	} {
		p := &tunnels{to: server.Listener.Addr().String()}
		front := httptest.NewServer(p)
		f := &fakeNet{names: privateNames(), serve: map[string]string{"10.0.0.9:3128": front.Listener.Addr().String()}}
		f.names["example.com"], f.names["direct.test"] = []string{"93.184.216.34"}, []string{"93.184.216.34"}
		o := Options{Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Hostname() == "direct.test" {
				return nil, nil
			}
			return url.Parse("http://me:pass%20word@10.0.0.9:3128")
		}}
		if x.allow != "" {
			o.AllowPrivate = []string{x.allow}
		}
		page, err := fetch(t, f.client(t, o), x.url)
		got := "error"
		var refused *RefusedError
		switch {
		case err == nil:
			got = string(page.Body)
		case errors.As(err, &refused):
			got = "refused"
		}
		if got != x.body || p.requests() != x.asked || strings.Join(f.dials(), ", ") != x.dialed {
			t.Errorf("%s: got %q (%v), asked %q, dialled %q", x.url, got, err, p.requests(), f.dials())
		}
		if strings.Contains(x.url, "only-the-proxy") && err != nil && !strings.Contains(err.Error(), "not through the proxy") {
			t.Errorf("%s: nothing says why the proxy was not asked: %v", x.url, err)
		}
		if x.asked != "" && p.auth != "Basic bWU6cGFzcyB3b3Jk" {
			t.Errorf("%s: the proxy was told %q", x.url, p.auth)
		}
		front.Close()
	}
}

func TestProxyFails(t *testing.T) {
	talker, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer talker.Close()
	go func() {
		for {
			conn, err := talker.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 "+strings.Repeat("x", 200_000))
			conn.Close()
		}
	}()
	refusing := httptest.NewServer(&tunnels{status: http.StatusProxyAuthRequired})
	defer refusing.Close()
	for proxy, want := range map[string]string{
		"http://u:secret@" + refusing.Listener.Addr().String():   `407 Proxy Authentication Required`,
		"http://u:secret@" + talker.Addr().String():              "through the proxy",
		"https://u:secret@" + refusing.Listener.Addr().String():  "through the proxy",
		"socks5://u:secret@" + refusing.Listener.Addr().String(): "timed out after 1s", // it waits for the end of a request
		"quic://u:secret@proxy.test":                             "unsupported proxy scheme quic",
	} {
		f := &fakeNet{names: map[string][]string{"example.com": {"93.184.216.34"}}}
		limit := 5 * time.Minute
		if strings.HasPrefix(proxy, "socks5:") {
			limit = time.Second
		}
		o := Options{Resolver: f, Timeout: limit, Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fetch(t, c, "https://example.com/")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || len(err.Error()) > 600 {
			t.Errorf("%s: got %v", proxy, err)
		}
	}
}

// A SOCKS proxy is given the checked address too.
func TestSOCKS(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "through") }))
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 1)
	go serveSOCKS(l, server.Listener.Addr().String(), asked)
	f := &fakeNet{names: map[string][]string{"example.com": {"93.184.216.34"}}}
	c, err := New(Options{Resolver: f, Proxy: func(*http.Request) (*url.URL, error) { return url.Parse("socks5h://" + l.Addr().String()) }})
	if err != nil {
		t.Fatal(err)
	}
	page, err := fetch(t, c, "http://example.com:8080/")
	if err != nil || string(page.Body) != "through" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if got := <-asked; got != "\x05\x01\x00\x01\x5d\xb8\xd8\x22\x1f\x90" {
		t.Errorf("the proxy was asked for %q, not for the address", got)
	}
}

// serveSOCKS takes one connection to an IPv4 address.
func serveSOCKS(l net.Listener, to string, asked chan<- string) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	hello := make([]byte, 3)
	io.ReadFull(conn, hello)
	conn.Write([]byte{5, 0})
	request := make([]byte, 10)
	io.ReadFull(conn, request)
	asked <- string(request)
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(conn, far)
}
