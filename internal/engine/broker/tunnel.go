package broker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// tunnel connects the command to a host. from has what was read of the connection.
func (b *Broker) tunnel(client net.Conn, from *bufio.Reader, r *http.Request) {
	t, err := target(r.RequestURI, "") // whatever its header says
	if err != nil {
		refuse(client, http.StatusBadRequest, err)
		return
	}
	if b.o.Credentials.has(t) {
		b.terminate(client, from, t)
		return
	}
	host, u, status, err := b.connect(b.ctx, t)
	if err != nil {
		refuse(client, status, err)
		return
	}
	defer host.Close()
	defer context.AfterFunc(b.ctx, func() { host.Close() })()
	if _, err := io.WriteString(client, established); err != nil {
		return
	}
	back := func() {
		io.Copy(client, host)
		closeWrite(client)
	}
	done := make(chan struct{})
	if !t.Usual() { // such as SSH, where the host begins
		go func() { defer close(done); back() }()
	}
	first, err := greeting(client, from, t)
	if err != nil {
		u.fail(err)
		return
	}
	if _, err := host.Write(first); err != nil {
		return
	}
	if t.Usual() {
		go func() { defer close(done); back() }()
	}
	if _, err := io.Copy(host, client); err == nil {
		closeWrite(host)
		<-done
	}
}

// terminate serves the one request that a tunnel to a host with credentials has.
func (b *Broker) terminate(client net.Conn, from *bufio.Reader, t Target) {
	u, err := b.decide(b.ctx, t)
	if err != nil {
		refuse(client, http.StatusForbidden, err)
		return
	}
	io.WriteString(client, established)
	key, err := b.o.Credentials.key()
	secure := tls.Server(&resumed{client, from}, &tls.Config{
		Certificates: []tls.Certificate{key}, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { return nil, checkHello(h, t) },
	})
	defer secure.Close()
	client.SetReadDeadline(time.Now().Add(greetTime))
	if err == nil {
		err = secure.HandshakeContext(b.ctx)
	}
	if err != nil {
		u.failed(b.ctx, fmt.Errorf("%s: TLS ends in Adze, because network.credentials has this host, and the program "+
			"has to trust the certificates in $SSL_CERT_FILE: %w", t.Host, err))
		return
	}
	r, _, err := read(secure)
	if err == nil {
		to, bad := target(r.Host, "443")
		if bad != nil || to != t || r.URL.Host != "" || r.Method == http.MethodConnect {
			err = fmt.Errorf("a request over TLS with %s was for %q", t, r.Host)
		}
	}
	if err != nil {
		refuse(secure, http.StatusMisdirectedRequest, u.fail(err))
		return
	}
	b.exchange(secure, r, t, u)
}

// resumed is a connection of which something was read.
type resumed struct {
	net.Conn
	from io.Reader
}

func (c *resumed) Read(p []byte) (int, error) { return c.from.Read(p) }

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	c.Close()
}

// greeting returns the first bytes that the command sends to a target, once they are known to be for that host. At the
// usual ports that is the beginning of TLS; at others, which a rule names, any protocol will do.
func greeting(client net.Conn, r *bufio.Reader, t Target) ([]byte, error) {
	const handshake = 0x16
	if t.Usual() {
		client.SetReadDeadline(time.Now().Add(greetTime))
		defer client.SetReadDeadline(time.Time{})
	}
	first, err := r.Peek(1)
	switch {
	case err != nil && !t.Usual():
		return nil, nil // the host may send more
	case err != nil:
		return nil, fmt.Errorf("%s: the tunnel was not used", t)
	case first[0] == handshake:
		return helloOf(r, t)
	case t.Usual():
		return nil, fmt.Errorf("%s: a tunnel to port %s is only for TLS", t, t.Port)
	}
	return r.Peek(r.Buffered()) // the rest is read from the connection
}

// helloOf reads the beginning of TLS, and checks that it names the host.
func helloOf(r *bufio.Reader, t Target) ([]byte, error) {
	var raw bytes.Buffer
	stop := errors.New("it was read")
	closed, _ := net.Pipe()
	closed.Close() // there is no answer
	check := func(h *tls.ClientHelloInfo) (*tls.Config, error) { return nil, cmp.Or(checkHello(h, t), stop) }
	err := tls.Server(&resumed{closed, io.TeeReader(r, &raw)}, &tls.Config{GetConfigForClient: check}).Handshake()
	if !errors.Is(err, stop) {
		return nil, fmt.Errorf("%s: this is not TLS for this host: %w", t, err)
	}
	rest, _ := r.Peek(r.Buffered())
	return append(raw.Bytes(), rest...), nil
}

// checkHello returns an error unless the beginning of TLS names the host.
func checkHello(h *tls.ClientHelloInfo, t Target) error {
	const encryptedHello = 0xfe0d
	name := t.Host
	if t.Addr.IsValid() {
		name = "" // TLS has no addresses there
	}
	switch {
	case slices.Contains(h.Extensions, encryptedHello):
		return errors.New("the server name is encrypted (ECH), so it can't be checked")
	case !strings.EqualFold(h.ServerName, name):
		return fmt.Errorf("the server name is %q", h.ServerName)
	}
	return nil
}
