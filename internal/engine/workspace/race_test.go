package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
)

// While a directory is swapped for a link that leads outside, again and again,
// nothing outside is ever read or written through a path that was checked.
func TestNoWayOutThroughSwappedDirectory(t *testing.T) {
	dir := tree(t, "app/sub/file", "out/file")
	w := open(t, filepath.Join(dir, "app"))
	p, err := w.Resolve(filepath.Join(dir, "app", "sub", "file"))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		swapUntil(stop, filepath.Join(dir, "app", "sub"), filepath.Join(dir, "out"))
	}()
	inside := []byte("app/sub/file")
	old := hashOf("app/sub/file")
	opened, refused := 0, 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		f, err := p.Open()
		if err != nil {
			if !errors.Is(err, ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			refused++
		} else {
			content, _ := io.ReadAll(f)
			f.Close()
			if string(content) == "out/file" {
				t.Fatal("the file outside was read")
			}
			opened++
		}
		p.Write(inside, atomicfile.Options{Old: &old})
	}
	close(stop)
	<-stopped
	if content, _ := os.ReadFile(filepath.Join(dir, "out", "file")); string(content) != "out/file" {
		t.Errorf("the file outside now holds %q", content)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "out")); len(entries) != 1 {
		t.Errorf("outside there is now %v", entries)
	}
	t.Logf("%d opened, %d refused", opened, refused)
}

func swapUntil(stop chan struct{}, directory, outside string) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		os.Rename(directory, directory+".real")
		os.Symlink(outside, directory)
		os.Remove(directory)
		os.Rename(directory+".real", directory)
		time.Sleep(50 * time.Microsecond) // not synchronization: time for the other side of the race
	}
}

func TestWrite(t *testing.T) {
	dir := tree(t, "app/")
	w := open(t, filepath.Join(dir, "app"))
	p, err := w.Resolve(filepath.Join(dir, "app", "new", "file.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Write([]byte("one"), atomicfile.Options{})
	if err != nil || !out.Created {
		t.Fatalf("%+v, %v", out, err)
	}
	old := hashOf("one")
	if _, err := p.Write([]byte("two"), atomicfile.Options{Old: &old}); err != nil {
		t.Fatal(err)
	}
	var changed *atomicfile.ChangedError
	if _, err := p.Write([]byte("three"), atomicfile.Options{Old: &old}); !errors.As(err, &changed) {
		t.Errorf("a stale write: %v", err)
	}
}
