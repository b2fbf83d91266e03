package trial

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// A session was killed while it started a process, which had its lock for a moment: the next session left its directory
// behind. Here another process has the lock until it is asked to exit.
func TestLockOfAProcessThatIsStarting(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	dir := filepath.Join(state, "s-1")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, lockName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(owner(gone.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := locked(path, filelock.TryExisting, 0)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(20*time.Millisecond, func() { lock.Close() })
		if err := Recover(state, nil); err != nil {
			t.Error(err)
		}
	})
	if exists(dir) {
		t.Error("the directory is still there")
	}
}

// The lock of a session that runs is skipped at once.
func TestLockOfASessionThatRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockName)
	for text, want := range map[string]bool{owner(os.Getpid()): false, "": false, "x": false, "1 pid:[0]": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ownerGone(path); got != want {
			t.Errorf("%q: gone is %v", text, got)
		}
	}
}
