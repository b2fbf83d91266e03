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
	"slices"
	"strings"
	"time"
)

// tunnel connects the command to a host.
func (b *Broker) tunnel(w http.ResponseWriter, r *http.Request) {
	t, err := target(r.RequestURI, "") // whatever its header says
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	host, u, status, err := b.connect(r.Context(), t)
	if err != nil {
		refuse(w, status, err)
		return
	}
	defer host.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	stop := context.AfterFunc(b.ctx, func() {
		client.Close()
		host.Close()
	})
	defer stop()
	client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
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
	first, err := greeting(client, buffered.Reader, t)
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
		return helloOf(client, r, t)
	case t.Usual():
		return nil, fmt.Errorf("%s: a tunnel to port %s is only for TLS", t, t.Port)
	}
	return r.Peek(r.Buffered()) // the rest is read from the connection
}

// helloOf reads the beginning of TLS, and checks that it names the host.
func helloOf(client net.Conn, r *bufio.Reader, t Target) ([]byte, error) {
	const encryptedHello = 0xfe0d
	seen := &recorded{Conn: client, from: r}
	stop := errors.New("read")
	var hello *tls.ClientHelloInfo
	err := tls.Server(seen, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, stop
	}}).Handshake()
	name := t.Host
	if t.Addr.IsValid() {
		name = "" // TLS has no addresses there
	}
	switch {
	case hello == nil:
		return nil, fmt.Errorf("%s: this is not TLS: %w", t, err)
	case slices.Contains(hello.Extensions, encryptedHello):
		return nil, fmt.Errorf("%s: the server name is encrypted (ECH), so it can't be checked", t)
	case !strings.EqualFold(hello.ServerName, name):
		return nil, fmt.Errorf("%s: the server name in TLS is %q", t, hello.ServerName)
	}
	rest, _ := r.Peek(r.Buffered())
	return append(seen.bytes.Bytes(), rest...), nil
}

// recorded records what is read, and writes nothing.
type recorded struct {
	net.Conn
	from  *bufio.Reader
	bytes bytes.Buffer
}

func (c *recorded) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes.Write(p[:n])
	return n, err
}

func (c *recorded) Write(p []byte) (int, error) { return len(p), nil }
func (c *recorded) Close() error                { return nil }
