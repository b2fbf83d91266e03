package queue

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// monitoredServer starts a server with a monitoring port, and returns its URLs.
func monitoredServer(t *testing.T, o server.Options) (url, monitor string) {
	t.Helper()
	o.JetStream, o.HTTPHost, o.HTTPPort = true, "127.0.0.1", -1
	s := other(t, o)
	return s.ClientURL(), "http://" + s.MonitorAddr().String()
}

// A server that acknowledges entries before they are on disk is rejected before anything is submitted.
func TestLazilySyncedServer(t *testing.T) {
	t.Parallel()
	lazy, lazyMonitor := monitoredServer(t, server.Options{ServerName: "lazy", SyncInterval: 2 * time.Minute})
	synced, syncedMonitor := monitoredServer(t, server.Options{ServerName: "synced", SyncAlways: true})
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	for want, o := range map[string]Options{
		"lazy syncs every 2m0s, so a crash loses acknowledged entries\nSet jetstream { sync_interval: always }": {URL: lazy, Monitors: lazyMonitor},
		"is the monitor of synced, which has no data of this queue\nCheck the URLs of --monitor.":               {URL: lazy, Monitors: syncedMonitor},
		"connection refused": {URL: lazy, Monitors: "http://127.0.0.1:1"},
		"404 Not Found":      {URL: synced, Monitors: page.URL},
		`invalid URL "queue:8222": expected http://HOST:8222`: {URL: synced, Monitors: "queue:8222"},
	} {
		if _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, c := range []struct {
		o         Options
		unchecked []string
	}{
		{Options{URL: synced, Monitors: "http://127.0.0.1:1, " + syncedMonitor + "/"}, nil},
		{Options{URL: synced}, []string{"synced"}},
		{Options{URL: lazy}, []string{"lazy"}},
	} {
		q, err := Connect(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(q.Unchecked, c.unchecked) {
			t.Errorf("%+v: not checked: %q", c.o, q.Unchecked)
		}
		q.Close()
	}
}

// Each server of a cluster is checked, and those that can't be are named.
func TestSyncOfCluster(t *testing.T) {
	t.Parallel()
	var monitors []string
	for i := range 3 {
		_, m := monitoredServer(t, server.Options{ServerName: fmt.Sprint("node-", i), SyncAlways: i < 2})
		monitors = append(monitors, m)
	}
	q := &Queue{nodes: map[string]bool{}}
	q.addNodes(&jetstream.ClusterInfo{Leader: "node-1", Replicas: []*jetstream.PeerInfo{{Name: "node-0"}, {Name: "node-2", Offline: true}}})
	if err := q.checkSync(t.Context(), Options{Monitors: strings.Join(monitors[:2], ",")}); err != nil || !slices.Equal(q.Unchecked, []string{"node-2"}) {
		t.Errorf("not checked: %q: %v", q.Unchecked, err)
	}
	if err := q.checkSync(t.Context(), Options{Monitors: strings.Join(monitors, ",")}); err == nil || !strings.Contains(err.Error(), "node-2 syncs every 2m0s") {
		t.Error(err)
	}
}

// The embedded server syncs every write: there is nothing to check.
func TestEmbeddedServerIsSynced(t *testing.T) {
	t.Parallel()
	e, err := Serve(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	q, err := Connect(t.Context(), e.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if c := e.server.JetStreamConfig(); !c.SyncAlways || len(q.Unchecked) > 0 {
		t.Errorf("synced: %v, not checked: %q", c.SyncAlways, q.Unchecked)
	}
}

// Streams of other programs that don't write to disk before they acknowledge are rejected; those of Adze do.
func TestStreamsAreSynced(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]jetstream.StreamConfig{
		"the stream JOURNAL has the persist_mode async": {Name: journalStream, Subjects: []string{"journal.>"}, PersistMode: jetstream.AsyncPersistMode},
		"the stream TASKS is in memory":                 {Name: tasksStream, Subjects: []string{"tasks.>"}, Storage: jetstream.MemoryStorage},
	} {
		s := other(t, server.Options{JetStream: true, SyncAlways: true})
		nc, err := nats.Connect(s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(t.Context(), Options{URL: s.ClientURL()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err := js.DeleteStream(t.Context(), c.Name); err != nil {
			t.Fatal(err)
		}
		q, err := Connect(t.Context(), Options{URL: s.ClientURL()})
		if err != nil {
			t.Fatal(err)
		}
		q.Close()
		for info := range js.ListStreams(t.Context()).Info() {
			if err := checkStream(info.Config); err != nil {
				t.Error(fmt.Errorf("a stream of Adze: %w", err))
			}
		}
	}
}
