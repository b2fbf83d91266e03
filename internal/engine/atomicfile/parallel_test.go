package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

func asChanged(err error, changed **ChangedError) bool { return errors.As(err, changed) }

// Whenever a writer is killed, the file is old or new, and the next writer removes its temporary files.
func TestKilledWriters(t *testing.T) {
	kills := soak.Count(40, 2000)
	dir := directoryOf(t)
	if !soak.On() { // a busy disk's fsync would make it slow
		dir = memoryDirectory(t)
	}
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, pattern(1), 0o644); err != nil {
		t.Fatal(err)
	}
	left := 0
	for range kills {
		cmd := command("write", path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.ReadFull(stdout, make([]byte, 1))                          // it is writing now
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond) // not synchronization: a random moment
		cmd.Process.Kill()
		io.Copy(io.Discard, stdout)
		cmd.Wait()
		if stderr.Len() > 0 {
			t.Fatalf("the writer failed: %s", stderr.String())
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := whole(content); err != nil {
			t.Fatal(err)
		}
		if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".adze-*")); len(names) > 0 {
			left++
		}
	}
	if _, err := Write(path+"2", nil, Options{}); err != nil {
		t.Fatal(err)
	}
	noTemps(t, filepath.Dir(path))
	t.Logf("%d kills, %d of them between temporary file and rename", kills, left)
}

func memoryDirectory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "adze-killed-")
	if err != nil || !filepath.IsAbs(dir) { // wine has this directory, on a drive
		if dir != "" {
			os.RemoveAll(dir)
		}
		return directoryOf(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Every edit of many at once is in the file at the end.
func TestParallelEdits(t *testing.T) {
	path := startFile(t)
	edits := soak.Count(100, 1000)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range edits {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := add(path, fmt.Sprintf("edit-%d\n", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	content, _ := os.ReadFile(path)
	for i := range edits {
		if !bytes.Contains(content, fmt.Appendf(nil, "edit-%d\n", i)) {
			t.Errorf("edit %d is lost", i)
		}
	}
	noTemps(t, filepath.Dir(path))
}

func TestParallelProcesses(t *testing.T) {
	path := startFile(t)
	processes := soak.Count(4, 16)
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			out, err := command("count", path, fmt.Sprintf("p%d", p)).CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v: %s", p, err, out)
			}
		})
	}
	wg.Wait()
	content, _ := os.ReadFile(path)
	if n := strings.Count(string(content), "\n"); n != 10*processes {
		t.Errorf("%d of %d edits are in the file", n, 10*processes)
	}
	noTemps(t, filepath.Dir(path))
}

// Of writers that all make the same new file, one does.
func TestOneOfManyCreates(t *testing.T) {
	path := filepath.Join(directoryOf(t), "sub", "new")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 20 {
		wg.Go(func() {
			_, err := Write(path, fmt.Appendf(nil, "%d", i), Options{})
			var changed *ChangedError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case !errors.As(err, &changed):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d writers made the file", made)
	}
}

// 200 clients that wrote different files in one directory failed with "locked for 10s": each held the lock while it wrote and
// synced its content, and waited for it by polling.
func TestManyWritersInOneDirectory(t *testing.T) {
	dir := directoryOf(t)
	var wg sync.WaitGroup
	for client := range 200 {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(client))
			how := Options{}
			for i := range soak.Count(3, 10) {
				content := fmt.Appendf(nil, "%d", i)
				if _, err := Write(path, content, how); err != nil {
					t.Error(err)
					return
				}
				hash := Hash(sha256.Sum256(content))
				how.Old = &hash
			}
		})
	}
	wg.Wait()
	noTemps(t, dir)
}

// lockedDirectory locks the directory of path as another process would.
func lockedDirectory(t *testing.T, path string) (unlock func()) {
	t.Helper()
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	unlock, ok := lockDirectory(dir, false)
	if !ok {
		t.Fatal("the directory is locked")
	}
	return unlock
}

func TestLockIsWaitedFor(t *testing.T) {
	path := startFile(t)
	old := put(t, path, "old")
	unlock := lockedDirectory(t, path)
	if _, err := Write(path, nil, Options{Old: old, Wait: 20 * time.Millisecond}); err == nil {
		t.Error("written while another writer has locked the directory")
	}
	if _, err := Write(path+"2", nil, Options{Wait: time.Nanosecond}); err != nil {
		t.Errorf("a new file needs no lock: %v", err)
	}
	unlock()
	if _, err := Write(path, []byte("x"), Options{Old: old}); err != nil {
		t.Error(err)
	}
}

// The content is written before the lock is taken, and compared again with it.
func TestLockIsOnlyForTheRename(t *testing.T) {
	for _, changed := range []bool{false, true} {
		path := startFile(t)
		old := put(t, path, "old")
		unlock := lockedDirectory(t, path)
		written := make(chan error, 1)
		go func() {
			_, err := Write(path, []byte("new content"), Options{Old: old})
			written <- err
		}()
		waittest.Until(t, "the temporary file is written", func() bool {
			names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".adze-*.tmp")) // on Windows, the lock is .adze-lock
			if len(names) != 1 {
				return false
			}
			content, _ := os.ReadFile(names[0])
			return string(content) == "new content"
		})
		want := "new content"
		if changed {
			want = "changed meanwhile"
			put(t, path, want)
		}
		unlock()
		var stale *ChangedError
		if err := <-written; errors.As(err, &stale) != changed || !changed && err != nil {
			t.Error(err)
		}
		holds(t, path, want)
	}
}
