package broker

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// forward sends a plain request to its host. The host of its URL counts, whatever its header says.
func (b *Broker) forward(w http.ResponseWriter, r *http.Request) {
	t, err := target(r.URL.Host, "80")
	if err == nil && t.Port == "443" {
		err = fmt.Errorf("%s: port 443 is only for TLS", t)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host, out.Close = "", t.String(), false
	if t.Port == "80" {
		out.Host = strings.TrimSuffix(t.String(), ":80")
	} else {
		out.Host = t.String()
	}
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	ofThisHop(out.Header)
	out.Header.Del("Expect") // the body is read when the host is connected
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // no other one
	}
	u, err := b.decide(r.Context(), t) // before its body is read
	if err != nil {
		refuse(w, http.StatusForbidden, err)
		return
	}
	resp, err := b.plain.RoundTrip(out)
	if err != nil {
		refuse(w, http.StatusBadGateway, u.failed(r.Context(), err))
		return
	}
	defer resp.Body.Close()
	ofThisHop(resp.Header)
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(flushing{w, http.NewResponseController(w)}, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // the command sees that the answer is incomplete
	}
}

// flushing passes an answer on as it arrives.
type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	f.control.Flush()
	return n, err
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
