package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/adze-dev/adze/fleet/internal/lockfile"
	"github.com/adze-dev/adze/fleet/internal/random"
)

// Embedded is a server in this process. It syncs every write.
type Embedded struct {
	URL   string
	Token string

	server *server.Server
	lock   *os.File
	dir    string
}

// address is the file by which other programs of the user find the server.
type address struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
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

// readyTime is how long a server may take to start: it reads all that it keeps.
const readyTime = 5 * time.Minute

// Serve starts a server with its data in a directory. listen is "127.0.0.1:0" for a free port on loopback.
func Serve(dir, listen string) (*Embedded, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock, err := lock(dir)
	if errors.Is(err, lockfile.ErrLocked) {
		return nil, used(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	e := &Embedded{Token: random.Text(), lock: lock, dir: dir}
	if err := e.start(listen); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// lock makes this process the only one that serves a directory.
func lock(dir string) (*os.File, error) { return lockfile.Try(filepath.Join(dir, "lock")) }

func (e *Embedded) start(listen string) error {
	host, port, err := splitListen(listen)
	if err != nil {
		return err
	}
	o := &server.Options{
		ServerName: "adze-fleet", Host: host, Port: port, Authorization: e.Token, JetStream: true, StoreDir: filepath.Join(e.dir, "data"),
		SyncAlways: true, NoLog: true, NoSigs: true, MaxPayload: 1 << 20, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 256 << 20,
	}
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	e.server = s
	go s.Start()
	if !s.ReadyForConnections(readyTime) {
		return fmt.Errorf("start the queue with the data in %s: not ready after %v", e.dir, readyTime)
	}
	if !s.JetStreamEnabled() {
		return fmt.Errorf("start the queue: the data in %s can't be used\nIs the disk full or read-only?", e.dir)
	}
	e.URL = s.ClientURL()
	raw, err := json.Marshal(address{e.URL, e.Token, os.Getpid()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.dir, "server.json"), raw, 0o600)
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

// used is the error with the address of the process that serves a directory.
func used(dir string) error {
	e := &UsedError{Dir: dir}
	raw, err := os.ReadFile(filepath.Join(dir, "server.json"))
	var a address
	if err == nil && json.Unmarshal(raw, &a) == nil {
		e.URL, e.Token, e.PID = a.URL, a.Token, a.PID
	}
	return e
}

// Options are how to connect to the server.
func (e *Embedded) Options() Options { return Options{URL: e.URL, Token: e.Token} }

// Options are how to connect to the server of the process that serves the directory.
func (e *UsedError) Options() Options { return Options{URL: e.URL, Token: e.Token} }

// Close stops the server.
func (e *Embedded) Close() error {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
		_ = os.Remove(filepath.Join(e.dir, "server.json"))
	}
	return e.lock.Close()
}

// plain reports whether a URL is plain TCP to another machine.
func plain(url string) bool {
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		scheme, rest = "nats", url
	}
	if scheme != "nats" && scheme != "ws" {
		return false
	}
	if _, after, ok := strings.Cut(rest, "@"); ok {
		rest = after
	}
	host, _, err := net.SplitHostPort(strings.TrimRight(rest, "/"))
	if err != nil {
		host = rest
	}
	return host != "localhost" && !net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}
