//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows

package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := TryExisting(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrLocked) {
		t.Errorf("canceled: %v", err)
	}
	got := make(chan error)
	go func() {
		f, err := Open(t.Context(), path)
		if err == nil {
			err = Close(f)
		}
		got <- err
	}()
	if !IsAt(f, path) {
		t.Error("it is not at its path")
	}
	if err := Close(f); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var open []*os.File
	for range 2 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := WaitShared(f); err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	if _, err := Try(path); !errors.Is(err, ErrLocked) {
		t.Errorf("shared: %v", err)
	}
	for _, f := range open {
		Close(f)
	}
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	Close(f)
}

func TestAlive(t *testing.T) {
	t.Parallel()
	for pid, want := range map[int]bool{os.Getpid(): true, os.Getppid(): true, 1 << 30: false, 0: false, -1: false} {
		if got := Alive(pid); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}
