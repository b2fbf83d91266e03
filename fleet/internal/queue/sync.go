package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// serverName is the name of the embedded server, which syncs every write.
const serverName = "adze-fleet-server"

// checkStream returns an error for a stream of another program that keeps messages in memory or writes them later.
func checkStream(c jetstream.StreamConfig) error {
	switch {
	case c.Storage != jetstream.FileStorage:
		return fmt.Errorf("the stream %s is in memory, so a restart loses it\nDelete it; Adze creates it again.", c.Name)
	case c.PersistMode == jetstream.AsyncPersistMode:
		return fmt.Errorf("the stream %s has the persist_mode async, so a crash loses entries\nDelete it; Adze creates it again.", c.Name)
	}
	return nil
}

// addNodes records the names of the servers that have a stream.
func (q *Queue) addNodes(c *jetstream.ClusterInfo) {
	if c == nil || c.Leader == "" {
		q.nodes[q.nc.ConnectedServerName()] = true
		return
	}
	q.nodes[c.Leader] = true
	for _, r := range c.Replicas {
		q.nodes[r.Name] = true
	}
}

// monitored is the response of a server's monitoring port.
type monitored struct {
	Name      string `json:"server_name"`
	JetStream struct {
		Config struct {
			SyncAlways   bool          `json:"sync_always"`
			SyncInterval time.Duration `json:"sync_interval"`
		} `json:"config"`
	} `json:"jetstream"`
}

// monitorTime bounds a request to a monitoring port.
const monitorTime = 10 * time.Second

// checkSync returns an error if a server of the queue acknowledges messages before they are on disk. Only monitoring ports
// and the server's system account report that. Servers that can't be checked are added to Unchecked; it is an error if none
// can, although URLs of monitoring ports are set.
func (q *Queue) checkSync(ctx context.Context, o Options) error {
	unchecked := maps.Clone(q.nodes)
	if o.Monitors == "" {
		delete(unchecked, serverName)
	}
	var problems []error
	for _, monitor := range strings.FieldsFunc(o.Monitors, func(r rune) bool { return r == ',' }) {
		m, err := askMonitor(ctx, strings.TrimSpace(monitor), o.CA)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !q.nodes[m.Name]:
			problems = append(problems, fmt.Errorf("%s is the monitor of %s, which has no data of this queue", monitor, m.Name))
		case !m.JetStream.Config.SyncAlways:
			return fmt.Errorf("%s syncs every %v, so a crash loses acknowledged entries\nSet jetstream { sync_interval: always } in its configuration, and restart it.",
				m.Name, m.JetStream.Config.SyncInterval)
		default:
			delete(unchecked, m.Name)
		}
	}
	q.Unchecked = slices.Sorted(maps.Keys(unchecked))
	if len(problems) > 0 && len(unchecked) == len(q.nodes) {
		return fmt.Errorf("check that every write is synced: %w\nCheck the URLs of --monitor.", errors.Join(problems...))
	}
	return nil
}

// askMonitor asks a monitoring port for the server's configuration.
func askMonitor(ctx context.Context, monitor, ca string) (monitored, error) {
	var m monitored
	u, err := url.Parse(monitor)
	if err != nil || u.Host == "" {
		return m, fmt.Errorf("invalid URL %q: expected http://HOST:8222", monitor)
	}
	client := &http.Client{Timeout: monitorTime}
	if ca != "" {
		raw, err := os.ReadFile(ca)
		if err != nil {
			return m, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(raw)
		client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("varz").String(), nil)
	if err != nil {
		return m, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return m, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return m, fmt.Errorf("%s: %s", r.URL, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(&m); err != nil || m.Name == "" {
		return m, fmt.Errorf("%s is not the monitoring port of a nats-server", monitor)
	}
	return m, nil
}
