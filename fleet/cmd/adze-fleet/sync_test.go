package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A run is not submitted to a server that acknowledges entries before they are on disk. Where that can't be checked, there is a
// warning, and the run continues.
func TestLazilySyncedServer(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{ServerName: "lazy", Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: -1,
		NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), SyncInterval: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("not ready")
	}
	m := newMachine(t, serveModel(t))
	file, url, monitor := m.tasks("tasks.jsonl", 1, 1), s.ClientURL(), "http://"+s.MonitorAddr().String()
	for _, args := range [][]string{{"run", file, "--slots", "1"}, {"worker"}} {
		_, problems, code := m.run(append(args, "--server", url, "--monitor", monitor)...)
		if code != 1 || !strings.Contains(problems, "lazy syncs every 2m0s, so a crash loses acknowledged entries\nSet jetstream { sync_interval: always }") {
			t.Errorf("%s: exit code %d: %s", args[0], code, problems)
		}
	}
	if out, _, _ := m.run("status", "--server", url); !strings.HasPrefix(out, "No runs.") {
		t.Errorf("a run was submitted: %s", out)
	}
	_, problems, code := m.run("run", file, "--slots", "1", "--server", url)
	if code != 0 || !strings.Contains(problems, "can't check that the queue at "+url+" syncs every write") || !strings.Contains(problems, "Check it with --monitor http://HOST:8222.") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}
