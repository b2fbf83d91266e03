package queue

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// other starts a server that isn't Adze's.
func other(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	if o.JetStream {
		o.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("not ready")
	}
	return s
}

// old returns a server that only says that its version is 2.11.
func old(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"version\":\"2.11.9\",\"headers\":true,\"max_payload\":1048576}\r\n")
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "PING") {
						fmt.Fprintf(c, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

// Servers that can't be used are reported, with the next step.
func TestBadServers(t *testing.T) {
	t.Parallel()
	plainServer := other(t, server.Options{Authorization: "right"}).ClientURL()
	limited := other(t, server.Options{JetStream: true, Users: []*server.User{{Username: "u", Password: "p",
		Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}}}}}}).ClientURL()
	for want, o := range map[string]Options{
		"Use tls://HOST:PORT":                        {URL: "nats://192.0.2.1:4222"},
		"Check the file":                             {URL: plainServer, Token: "wrong"},
		"Add jetstream":                              {URL: plainServer, Token: "right"},
		"Is the server running?":                     {URL: "nats://127.0.0.1:1"},
		"nats-server 2.11.9, which is too old":       {URL: old(t)},
		"no such file":                               {URL: plainServer, Creds: filepath.Join(t.TempDir(), "missing.creds")},
		"the credentials don't allow this: nats: pe": {URL: strings.Replace(limited, "://", "://u:p@", 1)},
	} {
		if _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for version, want := range map[string]bool{"2.11.9": true, "2.12.0": false, "2.15.2": false, "3.0.0": false, "1.99.0": true, "": true} {
		if tooOld(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
	if _, _, err := splitListen("0.0.0.0:4222"); err == nil || !strings.Contains(err.Error(), "loopback only") {
		t.Error(err)
	}
}

// A server that others find again has a port that outgoing connections don't get, and the same after a restart. An address that is
// in use is reported.
func TestStableAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := Serve(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(e.URL, "nats://")
	if _, text, _ := net.SplitHostPort(address); text < fmt.Sprint(firstPort) || text > fmt.Sprint(lastPort) {
		t.Errorf("the port is %s", text)
	}
	if _, err := Serve(t.TempDir(), address); err == nil || !strings.Contains(err.Error(), "another program listens on "+address+"\nUse another address with --listen.") {
		t.Errorf("an address in use: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if again := StableAddress(dir); again != address {
		t.Errorf("after a restart: %s, not %s", again, address)
	}
}

// A data directory that can't be written is reported.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), nil, 0o400); err != nil { // a file in place of a directory: root may write everywhere
		t.Fatal(err)
	}
	if _, err := Serve(dir, "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "Is the disk full or read-only?") {
		t.Error(err)
	}
}

// A server that is full accepts no files, and entries wait: nothing is lost, and the reason is reported.
func TestFullServer(t *testing.T) {
	t.Parallel()
	s := other(t, server.Options{JetStream: true, JetStreamMaxStore: 2 << 20})
	var mu sync.Mutex
	var told []string
	q, err := Connect(t.Context(), Options{URL: s.ClientURL(), Tell: func(note string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, note)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := q.PutFile(t.Context(), "large", make([]byte, 4<<20)); err == nil || !strings.Contains(err.Error(), "store large") || !strings.Contains(err.Error(), "full") {
		t.Errorf("a file that doesn't fit: %v", err)
	}
	many := tasks(120) // the list of them fits
	for i := range many.Tasks {
		many.Tasks[i].Prompt = fmt.Sprint(rand.Text(), strings.Repeat("x", 10_000))
	}
	if _, err := q.Submit(t.Context(), many, 0); err == nil || !strings.Contains(err.Error(), "storage is full") {
		t.Errorf("tasks that don't fit: %v", err)
	}
	if r, err := q.Run(t.Context(), "r"); err != nil || r.Submitted {
		t.Errorf("a run whose tasks don't fit: %+v %v", r, err)
	}
	l, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(1000) { // until the server is full
			e := entry(i + 1)
			e.Data = []byte(`{"mode":"` + strings.Repeat("x", 100_000) + `"}`)
			if l.Append(t.Context(), e, "") != nil {
				return
			}
		}
	}()
	waittest.Until(t, "a full queue is reported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(told, "\n"), "the queue accepts no entries; tasks wait: ")
	})
	select {
	case <-done:
		t.Error("an entry was given up")
	default:
	}
}
