package broker

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// forward sends a plain request to its host. The host of its URL counts, whatever its header says.
func (b *Broker) forward(c net.Conn, r *http.Request) {
	t, err := target(r.URL.Host, "80")
	if err == nil && t.Port == "443" {
		err = fmt.Errorf("%s: port 443 is only for TLS", t)
	}
	if err != nil {
		refuse(c, http.StatusBadRequest, err)
		return
	}
	u, err := b.decide(b.ctx, t) // before its body is read
	if err != nil {
		refuse(c, http.StatusForbidden, err)
		return
	}
	b.exchange(c, r, t, u)
}

// exchange sends a request to its host, and the answer to the command. If the request came over TLS, its host has
// credentials.
func (b *Broker) exchange(c net.Conn, r *http.Request, t Target, u *use) {
	if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	_, secure := c.(*tls.Conn)
	out := r.Clone(b.ctx)
	out.RequestURI, out.URL.Host, out.Close = "", t.String(), false
	out.Host = strings.TrimSuffix(strings.TrimSuffix(t.String(), ":80"), ":443")
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	ofThisHop(out.Header)
	out.Header.Del("Expect")
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // no other one
	}
	added := false
	if secure {
		out.URL.Scheme = "https"
		added = b.o.Credentials.add(t, out, u)
	}
	resp, err := b.plain.RoundTrip(out)
	if err == nil && secure {
		err = b.o.Credentials.clean(resp, added)
	}
	if err != nil {
		refuse(c, http.StatusBadGateway, u.failed(b.ctx, err))
		return
	}
	defer resp.Body.Close()
	ofThisHop(resp.Header)
	resp.Close, resp.ProtoMajor, resp.ProtoMinor = true, 1, r.ProtoMinor
	if resp.Write(c) == nil { // otherwise the command sees that the answer is incomplete
		finish(c)
	}
}

// ofThisHop removes the headers that are for the next program only. There are no other protocols on a connection.
func ofThisHop(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings"} {
		h.Del(name)
	}
}

// dialPlain connects for a plain request.
func (b *Broker) dialPlain(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := target(address, "80")
	if err != nil {
		return nil, err
	}
	conn, _, _, err := b.connect(ctx, t)
	return conn, err
}
