package atomicfile

import (
	"bytes"
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

	"github.com/adze-dev/adze/internal/soak"
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
	if _, err := Write(path, pattern(1), Options{Any: true}); err != nil {
		t.Fatal(err)
	}
	noTemps(t, filepath.Dir(path))
	t.Logf("%d kills, %d of them between temporary file and rename", kills, left)
}

func memoryDirectory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "adze-killed-")
	if err != nil {
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

// A program that knows nothing of the lock writes while a writer waits.
func TestLockIsWaitedFor(t *testing.T) {
	path := startFile(t)
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	unlock, err := lockDirectory(dir, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(path, nil, Options{Any: true, Wait: 20 * time.Millisecond}); err == nil {
		t.Error("written while another writer holds the folder")
	}
	unlock()
	if _, err := Write(path, []byte("x"), Options{Any: true}); err != nil {
		t.Error(err)
	}
}
