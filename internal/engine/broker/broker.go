// Package broker is the only way to the network for commands that have none: an HTTP proxy that asks before it
// connects.
//
//	b := broker.Serve(listener, broker.Options{Client: client, Decide: decide, Check: check})
//	…
//	b.Close()
//	for _, u := range b.Uses() { … }
//
// A name is resolved only after Decide has allowed it, because asking a resolver is already sending. Check sees every
// address before anything is sent there, and the checked address is dialed. Plain requests are parsed and written
// again, one on each connection, so that nothing is hidden between two of them. A tunnel to the ports 443 and 80 has to
// be TLS, and its server name has to be the host of the tunnel; nothing is sent to the host before that is known. For
// hosts with credentials TLS ends here, and requests are handled like plain ones.
package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/adze-dev/adze/internal/engine/web"
)

// Target is what a command wants to connect to.
type Target struct {
	Host string     // in lower case; an address without brackets
	Addr netip.Addr // valid if the host is an address
	Port string
}

// String returns host:port.
func (t Target) String() string { return net.JoinHostPort(t.Host, t.Port) }

// Usual reports whether the port is that of HTTPS or HTTP.
func (t Target) Usual() bool { return t.Port == "443" || t.Port == "80" }

// Options configure a broker.
type Options struct {
	// Client resolves names and connects.
	Client *web.Client
	// Decide returns nil if the command may connect to a target. It is called once for each target, and may wait for a
	// user until the context ends.
	Decide func(context.Context, Target) error
	// Check returns nil if it may connect to an address of a target. private is why the address isn't public, or "".
	Check func(ctx context.Context, t Target, addr netip.Addr, private string) error
	// Credentials are added to requests; nil: there are none.
	Credentials *Credentials
}

const (
	maxOpen    = 500             // connections at a time; more of them wait
	maxTargets = 1000            // targets of a command
	maxHeader  = 64 << 10        // bytes of a request's header
	decideTime = 2 * time.Minute // for the user's answer
	greetTime  = 30 * time.Second
	idleTime   = 2 * time.Minute
	lastTime   = time.Second
)

// Use is how a command used a host.
type Use struct {
	Host           string // with its port, unless that is a usual one
	Sent, Received int64  // bytes
	Failure        string // why a connection was denied or failed, the last time; "": none was
	Note           string // about requests that succeeded
}

// Broker is a running broker.
type Broker struct {
	o      Options
	listen net.Listener
	plain  *http.Transport // for requests without a tunnel
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	making    sync.WaitGroup
	mu        sync.Mutex
	decisions map[Target]*decision
	order     []*use
	waiting   int // decisions that are not made yet
	since     time.Time
	held      time.Duration
}

// decision is the decision about a target.
type decision struct {
	made chan struct{} // closed when err is known
	err  error
	use  *use
}

// use is how the command uses a host so far.
type use struct {
	mu sync.Mutex
	Use
}

// fail records why a connection failed.
func (u *use) fail(err error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Failure = err.Error()
	return err
}

// count counts bytes.
func (u *use) count(sent, received int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Sent, u.Received = u.Sent+int64(sent), u.Received+int64(received)
}

// failed records why a connection failed, unless the command gave up.
func (u *use) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return u.fail(err)
}

// Serve serves the connections of a command until Close.
func Serve(l net.Listener, o Options) *Broker {
	b := &Broker{
		o: o, listen: netutil.LimitListener(l, maxOpen), decisions: map[Target]*decision{}, done: make(chan struct{}),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.plain = &http.Transport{
		DialContext: b.dialPlain, DisableCompression: true, MaxResponseHeaderBytes: 1 << 20, IdleConnTimeout: idleTime,
		TLSHandshakeTimeout: greetTime,
	}
	go func() {
		defer close(b.done)
		for {
			c, err := b.listen.Accept()
			if err != nil { // it is closed
				break
			}
			go b.serve(c)
		}
		b.cancel()
		b.plain.CloseIdleConnections()
	}()
	return b
}

// Close closes all connections, and waits until no decision is being made. The end of the listener closes them too.
func (b *Broker) Close() {
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.listen.Close()
	<-b.done
	b.making.Wait()
}

// Uses returns the hosts that the command connected to or wanted to, in the order of their first connections.
func (b *Broker) Uses() []Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Use
	for _, u := range b.order {
		u.mu.Lock()
		out = append(out, u.Use)
		u.mu.Unlock()
	}
	return out
}

// Held returns how long connections waited for decisions, so far.
func (b *Broker) Held() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting > 0 {
		return b.held + time.Since(b.since)
	}
	return b.held
}

// serve serves the one request of a connection. There is never a second one, so none can be hidden in the first.
func (b *Broker) serve(c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(b.ctx, func() { c.Close() })()
	r, from, err := read(c)
	if err != nil {
		refuse(c, http.StatusBadRequest, err)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		b.tunnel(c, from, r)
	case r.URL.Scheme == "http" && r.URL.Host != "" && r.URL.User == nil:
		b.forward(c, r)
	default:
		refuse(c, http.StatusBadRequest, errors.New("this is a proxy for http:// URLs and tunnels"))
	}
}

// read reads the one request of a connection. from has what follows.
func read(c net.Conn) (r *http.Request, from *bufio.Reader, err error) {
	c.SetReadDeadline(time.Now().Add(greetTime))
	defer c.SetReadDeadline(time.Time{})
	limit := &io.LimitedReader{R: c, N: maxHeader}
	from = bufio.NewReader(limit)
	if r, err = http.ReadRequest(from); err != nil {
		return nil, nil, errors.New("invalid request")
	}
	if limit.N = math.MaxInt64; r.ProtoMajor != 1 {
		return nil, nil, errors.New("only HTTP/1.1 is supported here")
	}
	return r, from, nil
}

// refuse answers a request that isn't forwarded.
func refuse(c net.Conn, status int, err error) {
	text := fmt.Sprintf("adze: %v\n", err)
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: "+
		"close\r\n\r\n%s", status, http.StatusText(status), len(text), text)
	finish(c)
}

// finish lets the command read the answer: what it still sends would reset the connection.
func finish(c net.Conn) {
	closeWrite(c)
	c.SetReadDeadline(time.Now().Add(lastTime))
	io.CopyN(io.Discard, c, maxHeader)
}

// target reads host:port; port is the default.
func target(address, port string) (Target, error) {
	host := address
	if at := strings.LastIndexByte(address, ':'); at > strings.LastIndexByte(address, ']') {
		host, port = address[:at], address[at+1:]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return Target{}, fmt.Errorf("%q has no valid port", address)
	}
	name, addr, err := web.ParseHost(host)
	if err != nil {
		return Target{}, fmt.Errorf("%q is not a valid host: %w", host, err)
	}
	if addr.IsValid() {
		name = addr.String()
	}
	return Target{name, addr, strconv.FormatUint(n, 10)}, nil
}

// decide waits for the decision about a target.
func (b *Broker) decide(ctx context.Context, t Target) (*use, error) {
	b.mu.Lock()
	d := b.decisions[t]
	if d == nil {
		if err := b.ctx.Err(); err != nil || len(b.decisions) == maxTargets {
			b.mu.Unlock()
			return &use{}, fmt.Errorf("%s: a command can't connect to more than %d hosts", t, maxTargets)
		}
		d = &decision{made: make(chan struct{}), use: &use{Use: Use{Host: t.Host}}}
		if !t.Usual() {
			d.use.Host = t.String()
		}
		b.decisions[t], b.order = d, append(b.order, d.use)
		b.making.Go(func() { b.make(t, d) })
	}
	b.mu.Unlock()
	select {
	case <-d.made:
		return d.use, d.err
	case <-ctx.Done():
		return d.use, ctx.Err()
	}
}

// make makes the decision about a target.
func (b *Broker) make(t Target, d *decision) {
	b.hold(1)
	defer b.hold(-1)
	defer close(d.made)
	late := fmt.Errorf("%s was not approved within %v", t, decideTime)
	ctx, cancel := context.WithTimeoutCause(b.ctx, decideTime, late)
	defer cancel()
	if d.err = b.o.Decide(ctx, t); d.err != nil {
		if context.Cause(ctx) == late {
			d.err = late
		}
		d.use.fail(d.err)
	}
}

// hold counts the decisions that are not made yet, and the time of these.
func (b *Broker) hold(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 {
		b.since = time.Now()
	}
	if b.waiting += n; b.waiting == 0 {
		b.held += time.Since(b.since)
	}
}

// connect connects to a target, once it is allowed. status is for the answer if it fails.
func (b *Broker) connect(ctx context.Context, t Target) (conn net.Conn, u *use, status int, err error) {
	u, err = b.decide(ctx, t)
	if err != nil {
		return nil, u, http.StatusForbidden, err
	}
	var rejected error
	inner, err := b.o.Client.Connect(ctx, t.Host, t.Port, func(a netip.Addr) error {
		if rejected == nil {
			rejected = b.o.Check(ctx, t, a, web.Private(a))
		}
		return rejected
	})
	switch {
	case rejected != nil:
		return nil, u, http.StatusForbidden, u.fail(rejected)
	case err != nil:
		return nil, u, http.StatusBadGateway, u.failed(ctx, err)
	}
	return &counted{inner, u}, u, 0, nil
}

// counted counts the bytes of a connection.
type counted struct {
	net.Conn
	use *use
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	c.use.count(0, n)
	return n, err
}

func (c *counted) Write(p []byte) (n int, err error) {
	n, err = c.Conn.Write(p)
	c.use.count(n, 0)
	return n, err
}

// CloseWrite passes on that the command sends nothing more.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
