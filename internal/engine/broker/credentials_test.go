package broker

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/web"
)

const token = "tok-9fK2mXq7LwZ4"

// upstream is a host with credentials, and one without. Their listeners record all requests.
type upstream struct {
	proxy  string
	bundle string // what commands trust
	broker *Broker

	mu  sync.Mutex
	got []*http.Request
}

// last returns the last request that arrived; nil: none did since the last call.
func (u *upstream) last() (r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.got) > 0 {
		r = u.got[len(u.got)-1]
	}
	u.got = nil
	return r
}

// openWith opens a broker with credentials for api.example.com.
func openWith(t *testing.T, list ...Credential) *upstream {
	t.Helper()
	u := &upstream{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(u.answer))
	authority, key, err := certify([]string{"api.example.com", "other.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{key}}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	corporate := filepath.Join(t.TempDir(), "corporate.pem")
	os.WriteFile(corporate, []byte(authority), 0o600)
	c, err := NewCredentials(list, []string{"NODE_EXTRA_CA_CERTS=" + corporate}, func(text string) (string, error) {
		u.bundle = text
		return "/bundle.pem", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{
		names: map[string][]string{"api.example.com": {public}, "other.example.com": {public}},
		to:    map[string]string{public + ":443": s.Listener.Addr().String()},
	}
	u.broker, u.proxy = start(t, Options{
		Client: client(t, web.Options{Resolver: o, Dial: o.dial}), Credentials: c,
		Decide: func(_ context.Context, g Target) error {
			if strings.HasPrefix(g.Host, "denied") {
				return errors.New("denied")
			}
			return nil
		},
	})
	u.broker.plain.TLSClientConfig = &tls.Config{RootCAs: roots}
	c.Bundle()
	return u
}

// answer sends back what it got, in many ways.
func (u *upstream) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.got = append(u.got, r)
	u.mu.Unlock()
	sent := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
	w.Header().Set("Set-Cookie", "session=1")
	w.Header().Set("X-Echo", sent)
	w.Header()["X-"+strings.ReplaceAll(sent, " ", "-")] = []string{"1"}
	switch r.URL.Path {
	case "/away":
		http.Redirect(w, r, "https://other.example.com/"+url.PathEscape(sent), http.StatusFound)
	case "/compressed":
		w.Header().Set("Content-Encoding", "gzip")
		g := gzip.NewWriter(w)
		io.WriteString(g, sent)
		g.Close()
	case "/part":
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, sent[:len(sent)-3])
	case "/upgrade":
		c, b, _ := w.(http.Hijacker).Hijack()
		fmt.Fprintf(b, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n%s", sent)
		b.Flush()
		c.Close()
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/slow": // in pieces
		for i := range sent {
			io.WriteString(w, sent[i:i+1])
			w.(http.Flusher).Flush()
		}
	case "/cut":
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, sent)
	default:
		fmt.Fprintf(w, "%s %s %s|%s|%s|%s", r.Method, r.URL, body, sent,
			base64.StdEncoding.EncodeToString([]byte("x"+sent+"y")), url.QueryEscape(sent))
	}
}

// command is a client that trusts what commands trust.
func (u *upstream) command() *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(u.bundle))
	c := via(u.proxy)
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// do sends a request, and returns all of the answer that the command sees.
func (u *upstream) do(method, at, body string, header http.Header) (status int, all string, err error) {
	r, err := http.NewRequest(method, at, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header = header
	resp, err := u.command().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, fmt.Sprint(resp.Status, resp.Header, resp.Trailer, string(text)), err
}

var bearer = Credential{Host: "api.example.com", Header: "authorization", Value: "Bearer " + token}

// The header replaces what the command sent, for its host and methods only, and no answer has its value.
func TestCredentials(t *testing.T) {
	u := openWith(t, bearer, Credential{Host: "api.example.com", Header: "X-Api-Key", Value: token + "-2", Methods: []string{"PUT"}})
	for _, tt := range []struct {
		name, method, path string
		header             http.Header
		status             int
		sent               string
	}{
		{"GET", "GET", "/a?b=c", nil, 200, "Bearer " + token},
		{"HEAD", "HEAD", "/a", nil, 200, "Bearer " + token},
		{"its own", "GET", "/a", http.Header{"Authorization": {"own", "Bearer own"}, "AUTHORIZATION": {"x"}}, 200, "Bearer " + token},
		{"hop by hop", "GET", "/a", http.Header{"Connection": {"Authorization"}}, 200, "Bearer " + token},
		{"override", "GET", "/a", http.Header{"X-Http-Method-Override": {"DELETE"}}, 200, "Bearer " + token},
		{"POST", "POST", "/a", http.Header{"Authorization": {"own-value"}}, 200, "own-value"},
		{"PUT", "PUT", "/a", nil, 200, ""},
		{"pieces", "GET", "/slow", nil, 200, "Bearer " + token},
		{"redirect", "GET", "/away", nil, 302, "Bearer " + token},
		{"no body", "GET", "/none", nil, 204, "Bearer " + token},
		{"compressed", "GET", "/compressed", http.Header{"Accept-Encoding": {"gzip"}}, 502, "Bearer " + token},
		{"part", "GET", "/part", http.Header{"Range": {"bytes=0-9"}}, 502, "Bearer " + token},
		{"upgrade", "GET", "/upgrade", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 502, "Bearer " + token},
		{"100-continue", "POST", "/a", http.Header{"Expect": {"100-continue"}}, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, all, err := u.do(tt.method, "https://api.example.com"+tt.path, "", tt.header)
			if err != nil || status != tt.status {
				t.Fatalf("%d %v\n%s", status, err, all)
			}
			r := u.last()
			if got := r.Header["Authorization"]; tt.sent != "" && !slices.Equal(got, []string{tt.sent}) || tt.sent == "" && got != nil {
				t.Errorf("sent %q, want %q", got, tt.sent)
			}
			if tt.method == "PUT" && r.Header.Get("X-Api-Key") != token+"-2" {
				t.Errorf("sent %v", r.Header)
			}
			for _, name := range []string{"Range", "Upgrade", "X-Http-Method-Override"} {
				if r.Header.Get(name) != "" {
					t.Errorf("sent %v", r.Header)
				}
			}
			if e := r.Header.Get("Accept-Encoding"); e != "identity" || !r.Close || r.Host != "api.example.com" {
				t.Errorf("%q, %v, %s", e, r.Close, r.Host)
			}
			if strings.Contains(all, "fK2mXq7") || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(token))[4:16]) {
				t.Errorf("the command saw %s", all)
			}
			if strings.Contains(all, "Set-Cookie") != (tt.method == "POST") {
				t.Errorf("a cookie: %s", all)
			}
		})
	}
	uses := u.broker.Uses()
	if want := "POST requests don't get the X-Api-Key of network.credentials, which is for PUT"; len(uses) != 1 || uses[0].Note != want ||
		uses[0].Sent == 0 {
		t.Errorf("%+v", uses)
	}
	if _, all, err := u.do("GET", "https://api.example.com/cut", "", nil); err == nil {
		t.Errorf("a broken answer looks complete: %s", all)
	}
}

// Requests to other hosts are sent as they are, and their TLS isn't opened.
func TestCredentialsOfOtherHosts(t *testing.T) {
	u := openWith(t, bearer)
	status, all, err := u.do("GET", "https://other.example.com/a", "", http.Header{"Authorization": {"own-value"}})
	if err != nil || status != 200 || !strings.Contains(all, "own-value") {
		t.Errorf("%d %v\n%s", status, err, all)
	}
	if got := u.last().Header["Authorization"]; !slices.Equal(got, []string{"own-value"}) {
		t.Errorf("sent %q", got)
	}
	if status, _, err := u.do("GET", "https://denied.example.com/a", "", nil); err == nil {
		t.Errorf("denied: %d", status)
	}
	key, err := u.broker.o.Credentials.key()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(key.Certificate[0])
	if err != nil || leaf.VerifyHostname("other.example.com") == nil || leaf.VerifyHostname("api.example.com") != nil || leaf.IsCA {
		t.Errorf("the certificate is for %v: %v", leaf.DNSNames, err)
	}
}

// What can't be checked isn't sent: another host in the request or in TLS, a second request, no HTTP/1.1.
func TestCredentialsSmuggling(t *testing.T) {
	u := openWith(t, bearer)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(u.bundle))
	for name, tt := range map[string]struct{ sni, request string }{
		"another Host":  {"api.example.com", "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n"},
		"two Hosts":     {"api.example.com", "GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: other.example.com\r\n\r\n"},
		"no Host":       {"api.example.com", "GET / HTTP/1.0\r\n\r\n"},
		"another port":  {"api.example.com", "GET / HTTP/1.1\r\nHost: api.example.com:444\r\n\r\n"},
		"absolute":      {"api.example.com", "GET https://other.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		"plain":         {"api.example.com", "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		"CONNECT":       {"api.example.com", "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"},
		"another SNI":   {"other.example.com", "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		"two lengths":   {"api.example.com", "GET / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
		"HTTP/2":        {"api.example.com", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		"odd header":    {"api.example.com", "GET / HTTP/1.1\r\nHost: api.example.com\r\nAuthorization : own\r\n\r\n"},
		"space in name": {"api.example.com", "GET / HTTP/1.1\r\nHost: api.example.com\r\nX Y: own\r\n\r\n"},
	} {
		if got := u.raw(t, tt.sni, tt.request, pool); strings.Contains(got, token) || strings.Contains(got, "200 OK") {
			t.Errorf("%s: %s", name, got)
		}
		if r := u.last(); r != nil {
			t.Errorf("%s: sent %v", name, r)
		}
	}
	first := "GET /first HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	second := strings.Replace(first, "first", "second", 1)
	for name, request := range map[string]string{
		"pipelined":    first + second,
		"in the body":  fmt.Sprintf("GET /first HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: %d\r\n\r\n%s", len(second), second),
		"both lengths": "GET /first HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + first,
	} {
		u.raw(t, "api.example.com", request, pool)
		u.mu.Lock()
		if len(u.got) > 1 || len(u.got) == 1 && u.got[0].URL.Path != "/first" {
			t.Errorf("%s: %d requests, %v", name, len(u.got), u.got[0].URL)
		}
		u.mu.Unlock()
		u.last()
	}
	if _, err := tls.Dial("tcp", u.proxy, &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("TLS without a tunnel")
	}
}

// raw sends a request over TLS in a tunnel to api.example.com.
func (u *upstream) raw(t *testing.T, sni, request string, pool *x509.CertPool) string {
	t.Helper()
	conn, err := net.Dial("tcp", u.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, strings.ReplaceAll(connect, "registry", "api"))
	io.ReadFull(conn, make([]byte, len(established)))
	secure := tls.Client(conn, &tls.Config{ServerName: sni, RootCAs: pool})
	io.WriteString(secure, request)
	all, err := io.ReadAll(secure)
	return fmt.Sprint(string(all), err)
}

// A program that doesn't trust the broker fails, and the result says why. An upstream that can't be verified gets
// nothing.
func TestCredentialsAreVerified(t *testing.T) {
	u := openWith(t, bearer)
	u.bundle = ""
	if _, _, err := u.do("GET", "https://api.example.com/", "", nil); err == nil {
		t.Error("an unknown authority was accepted")
	}
	waittest.Until(t, "the result says why", func() bool { return strings.Contains(u.broker.Uses()[0].Failure, "$SSL_CERT_FILE") })
	u = openWith(t, bearer)
	u.broker.plain.TLSClientConfig.RootCAs = x509.NewCertPool()
	if status, all, err := u.do("GET", "https://api.example.com/", "", nil); status != 502 || u.last() != nil {
		t.Errorf("%d %v %s", status, err, all)
	}
	u = openWith(t, bearer)
	u.broker.o.Check = func(context.Context, Target, netip.Addr, string) error { return errors.New("private") }
	if status, all, err := u.do("GET", "https://api.example.com/", "", nil); status != 502 || u.last() != nil {
		t.Errorf("%d %v %s", status, err, all)
	}
}

func TestNewCredentials(t *testing.T) {
	for name, one := range map[string]Credential{
		"address":     {Host: "203.0.113.7", Header: "A", Value: token},
		"wildcard":    {Host: "*.example.com", Header: "A", Value: token},
		"URL":         {Host: "https://api.example.com", Header: "A", Value: token},
		"port 80":     {Host: "api.example.com:80", Header: "A", Value: token},
		"no host":     {Header: "A", Value: token},
		"no header":   {Host: "api.example.com", Value: token},
		"two headers": {Host: "api.example.com", Header: "A: b\r\nC", Value: token},
		"no value":    {Host: "api.example.com", Header: "A"},
		"two lines":   {Host: "api.example.com", Header: "A", Value: token + "\r\nX: " + token},
		"short":       {Host: "api.example.com", Header: "A", Value: "Bearer abc"},
		"common":      {Host: "api.example.com", Header: "A", Value: "Bearer localhost"},
	} {
		if _, err := NewCredentials([]Credential{one}, nil, nil); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := NewCredentials([]Credential{{
		Host: "API.example.com.", Header: "Authorization",
		Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("user:Pass-word-7x")),
	}}, []string{"SSL_CERT_FILE=/own.pem"}, func(text string) (string, error) { return "/bundle.pem", nil })
	if err != nil || !slices.Contains(c.Secrets, "Pass-word-7x") || !c.has(Target{Host: "api.example.com", Port: "443"}) {
		t.Fatal(err)
	}
	env := c.Environ([]string{"A=b", "SSL_CERT_FILE=/own.pem"})
	if !slices.Contains(env, "SSL_CERT_FILE=/bundle.pem") || slices.Contains(env, "SSL_CERT_FILE=/own.pem") || env[0] != "A=b" {
		t.Errorf("%q", env)
	}
	if none := (*Credentials)(nil); none.has(Target{}) || none.Bundle() != "" || len(none.Environ([]string{"a"})) != 1 {
		t.Error("no credentials")
	}
}

// The bundle has the authorities that commands trust otherwise, and no key.
func TestBundle(t *testing.T) {
	u := openWith(t, bearer)
	n := 0
	for rest := []byte(u.bundle); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			t.Errorf("the bundle has a %s", block.Type)
		}
	}
	if n < 2 {
		t.Errorf("%d certificates, want the ones of $NODE_EXTRA_CA_CERTS and the broker's", n)
	}
}
