package discover

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
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
	code := m.Run()
	if err := leak(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leak finds goroutines that still run. One that reads a message of many megabytes when its server is stopped returns
// later than goleak waits.
func leak() (err error) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}

// script writes an executable bash script and returns its path.
func script(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool.sh")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env bash\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
