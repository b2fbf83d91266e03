package discover

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/leaktest"
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
