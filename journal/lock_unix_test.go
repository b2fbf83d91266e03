//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// A child process that is being forked has all files until it executes its program. Close unlocks a session anyway: it used
// to only close the file, and opening the session again failed with "in use".
func TestCloseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	s, _ := newSession(t, 1, 3)
	for range 3 {
		f, _, err := s.Open(testID)
		if err != nil {
			t.Fatal(err)
		}
		forked, err := syscall.Dup(int(f.lock.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(forked)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if locked(s.Dir(testID)) {
			t.Error("it is still locked")
		}
	}
}

// A list of sessions tries locks, and on a busy machine may keep one for long. Open waits for it: it used to give up after
// 50 ms, and named a process that had ended as the one that uses the session.
func TestOpenWaitsForALock(t *testing.T) {
	t.Parallel()
	s, _ := newSession(t, 1, 3)
	path := filepath.Join(s.Dir(testID), lockName)
	probe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if filelock.Lock(probe) != nil {
		t.Fatal("the session is locked")
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(100*time.Millisecond, func() { filelock.Unlock(probe) }) // at least as long as it used to wait
		f, _, err := s.Open(testID)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A session that a living process writes is in use at once.
func TestOpenNamesTheOwner(t *testing.T) {
	t.Parallel()
	s, _ := newSession(t, 1, 3)
	f, _, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var inUse *InUseError
	if _, _, err := s.Open(testID); !errors.As(err, &inUse) || inUse.Owner.PID != os.Getpid() {
		t.Errorf("%v", err)
	}
}

func TestOwnerAlive(t *testing.T) {
	t.Parallel()
	host, _ := os.Hostname()
	for owner, want := range map[Owner]bool{
		{}:                              false,
		{PID: os.Getpid(), Host: host}:  true,
		{PID: os.Getppid(), Host: host}: true,
		{PID: 1 << 30, Host: host}:      false,
		{PID: 1 << 30, Host: "other"}:   true,
	} {
		if got := owner.alive(); got != want {
			t.Errorf("%+v: %v, want %v", owner, got, want)
		}
	}
}
