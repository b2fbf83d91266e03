package broker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// tunnel connects the command to a host. from has what was read of the connection.
func (b *Broker) tunnel(client net.Conn, from *bufio.Reader, r *http.Request) {
	t, err := target(r.RequestURI, "") // whatever its header says
	if err != nil {
		refuse(client, http.StatusBadRequest, err)
		return
	}
	host, u, status, err := b.connect(b.ctx, t)
	if err != nil {
		refuse(client, status, err)
		return
	}
	defer host.Close()
	defer context.AfterFunc(b.ctx, func() { host.Close() })()
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
