package discover

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/tool"
)

// This test binary is also the server that the tests start: see fake_test.go.
func TestMain(m *testing.M) {
	if mode := os.Getenv("ADZE_FAKE_SERVER"); mode != "" {
		if err := fakeServer(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(leaktest.Run(m))
}

// script writes an executable bash script and returns its path.
func script(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool.sh")
	// No process may be forked for another test meanwhile: it would have the script open for writing until it executes its
	// own program, and the script could not be executed ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/usr/bin/env bash\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// spawnSleeper starts a process in this one's group that keeps its output open.
func spawnSleeper() {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Start()
}

// One call over stdio, through registry, validation and policy. The goal is under 0.6 ms.
func BenchmarkStdioCall(b *testing.B) {
	d := ready(b, "plain", Options{})
	for b.Loop() {
		if o := d.call(context.Background(), "fake__echo", `{"text":"hello"}`); o.Status != tool.StatusSuccess {
			b.Fatal(o.Error)
		}
	}
}

// A start with five servers whose manifests are cached. The goal is at most 5 ms more than with none.
func BenchmarkOpenFiveCached(b *testing.B) {
	state := b.TempDir()
	servers := map[string]Server{}
	for i := range 5 {
		servers[fmt.Sprintf("server%d", i)] = self(b, "plain")
	}
	d := open(b, servers, Options{State: state})
	if err := d.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	d.Servers.Close()
	for b.Loop() {
		s := Open(servers, Options{State: state, Registry: tool.NewRegistry()})
		if s.List()[0].State != Cached {
			b.Fatal("it was not cached")
		}
		s.Close()
	}
}
