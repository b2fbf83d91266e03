package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/internal/engine/filelock"
)

// Embedded is a server in this process. It syncs every write.
type Embedded struct {
	URL   string
	Token string

	server *server.Server
	lock   *os.File
	dir    string
	log    problems
}

// address is the file by which other programs of the user find the server. It stays when the server stops: the next one uses
// the same port and token, so workers and commands find it again.
type address struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// addressFile is its name in the data directory.
const addressFile = "server.json"

// readAddress returns the address of a directory's last server; empty if there was none.
func readAddress(dir string) address {
	var a address
	raw, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return address{}
	}
	return a
}

// TokenOf returns the token for a URL, if it is the URL of a directory's last server; otherwise "".
func TokenOf(dir, url string) string {
	if a := readAddress(dir); a.URL == strings.TrimRight(url, "/") {
		return a.Token
	}
	return ""
}

// UsedError reports that another process serves the directory.
type UsedError struct {
	Dir        string
	URL, Token string
	PID        int
}

func (e *UsedError) Error() string {
	return fmt.Sprintf("process %d already runs a fleet with the data in %s", e.PID, e.Dir)
}

// readyTime bounds the start of a server, which reads all its data.
const readyTime = 5 * time.Minute

// Serve starts a server with its data in a directory. listen is "127.0.0.1:0" for a free port on loopback, and "" for a port
// that the next server of the directory uses again.
func Serve(dir, listen string) (*Embedded, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock, err := lock(dir)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, used(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	before := readAddress(dir)
	e := &Embedded{Token: cmp.Or(before.Token, random.Text()), lock: lock, dir: dir}
	if listen == "" {
		listen = StableAddress(dir)
	} else {
		listen = again(listen, before.URL)
	}
	if err := e.start(listen); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Ports of permanent servers: below those that Linux uses for outgoing connections, which could take the port while the
// server is stopped.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// StableAddress returns a loopback address for the server of a directory that stays the same after a restart: that of the
// last server, or one with a free port.
func StableAddress(dir string) string {
	if _, before, found := strings.Cut(readAddress(dir).URL, "://"); found {
		for range 50 { // an outgoing connection may use it for a moment
			if free(before) {
				return before
			}
			time.Sleep(retryTime)
		}
	}
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort)))
		if free(address) {
			return address
		}
	}
	return "127.0.0.1:0"
}

// free reports whether a server can listen on an address.
func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// again returns the address of the last server if listen has no fixed port and that port is free.
func again(listen, before string) string {
	host, port, err := net.SplitHostPort(listen)
	_, old, found := strings.Cut(before, "://")
	oldHost, _, oldErr := net.SplitHostPort(old)
	if err != nil || port != "0" || !found || oldErr != nil || oldHost != host {
		return listen
	}
	if !free(old) {
		return listen
	}
	return old
}

// lock locks a directory, so that only this process serves it.
func lock(dir string) (*os.File, error) { return filelock.Try(filepath.Join(dir, "lock")) }

func (e *Embedded) start(listen string) error {
	host, port, err := splitListen(listen)
	if err != nil {
		return err
	}
	if port != server.RANDOM_PORT && !free(listen) {
		return fmt.Errorf("start the queue: another program listens on %s\nUse another address with --listen.", listen)
	}
	o := &server.Options{
		ServerName: serverName, Host: host, Port: port, Authorization: e.Token, JetStream: true, StoreDir: filepath.Join(e.dir, "data"),
		SyncAlways: true, NoLog: true, NoSigs: true, MaxPayload: 1 << 20, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 256 << 20,
	}
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	e.server = s
	e.log.fatal = make(chan string, 1)
	s.SetLogger(&e.log, false, false)
	go s.Start()
	if err := e.ready(e.log.fatal); err != nil {
		return err
	}
	e.URL = s.ClientURL()
	raw, err := json.Marshal(address{e.URL, e.Token, os.Getpid()})
	if err != nil {
		return err
	}
	path := filepath.Join(e.dir, addressFile)
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path) // a process that is killed here leaves the old file
}

// ready waits until the server can be used. A server that can't use its data only logs that, and is never ready.
func (e *Embedded) ready(problem <-chan string) error {
	for deadline := time.Now().Add(readyTime); ; {
		ready := e.server.ReadyForConnections(50 * time.Millisecond)
		select {
		case text := <-problem:
			return fmt.Errorf("start the queue: the data in %s can't be used: %s\nIs the disk full or read-only?", e.dir, text)
		default:
		}
		switch {
		case ready && e.server.JetStreamEnabled():
			return nil
		case ready:
			return fmt.Errorf("start the queue: the data in %s can't be used\nIs the disk full or read-only?", e.dir)
		case time.Now().After(deadline):
			return fmt.Errorf("start the queue with the data in %s: not ready after %v", e.dir, readyTime)
		}
	}
}

// problems is a logger that keeps the first fatal error of a server, and the last other one.
type problems struct {
	fatal chan string
	last  atomic.Pointer[string]
}

func (p *problems) Fatalf(format string, args ...any) {
	select {
	case p.fatal <- fmt.Sprintf(format, args...):
	default:
	}
}

func (p *problems) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.last.Store(&text)
}

func (*problems) Noticef(string, ...any) {}
func (*problems) Warnf(string, ...any)   {}
func (*problems) Debugf(string, ...any)  {}
func (*problems) Tracef(string, ...any)  {}

// Problem returns the last error of the server, or "".
func (e *Embedded) Problem() string {
	text := e.log.last.Load()
	if text == nil {
		return ""
	}
	return *text + " (" + e.dir + ")"
}

// splitListen reads the address to listen on. Only loopback is allowed: there is no TLS.
func splitListen(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("invalid address %q: expected HOST:PORT", listen)
	}
	if host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return "", 0, fmt.Errorf("invalid address %q: without TLS the queue listens on loopback only\nUse nats-server with TLS for other machines: see docs/fleet.md.", listen)
	}
	if port, err = net.LookupPort("tcp", text); err != nil {
		return "", 0, fmt.Errorf("invalid port in %q: %w", listen, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// used returns the error with the address of the process that serves a directory.
func used(dir string) error {
	a := readAddress(dir)
	return &UsedError{Dir: dir, URL: a.URL, Token: a.Token, PID: a.PID}
}

// Options returns how to connect to the server.
func (e *Embedded) Options() Options {
	return Options{URL: e.URL, Token: e.Token, Problem: e.Problem}
}

// Options returns how to connect to the server of the process that serves the directory.
func (e *UsedError) Options() Options { return Options{URL: e.URL, Token: e.Token} }

// Close stops the server.
func (e *Embedded) Close() error {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	return e.lock.Close()
}

// plain reports whether one of the comma-separated URLs is plain TCP to another machine.
func plain(urls string) bool {
	return slices.ContainsFunc(strings.Split(urls, ","), func(url string) bool { return !encrypted(url) && !loopback(url) })
}

// encrypted reports whether a URL uses TLS.
func encrypted(url string) bool {
	scheme, _, _ := strings.Cut(strings.TrimSpace(url), "://")
	return scheme == "tls" || scheme == "wss"
}

// loopback reports whether a URL is on this machine.
func loopback(url string) bool {
	_, rest, found := strings.Cut(strings.TrimSpace(url), "://")
	if !found {
		rest = url
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	rest = strings.TrimRight(rest, "/")
	host, _, err := net.SplitHostPort(rest)
	if err != nil {
		host = rest
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}
