package trial

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// inside returns a workspace whose trials have their state in it, and options for them.
func inside(t *testing.T) (hidden string, o Options) {
	t.Helper()
	b := opened(t, Options{}) // or the test is skipped
	// A state directory that contains the workspace isn't used for it, like one on another mount.
	return filepath.Join(b.root, Hidden), Options{State: filepath.Dir(b.root), Roots: []string{b.root}, Without: without()}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func openLayers(t *testing.T, o Options) *Layers {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Error(err)
	}
	if ok, why := l.Supported(); !ok {
		t.Error(why)
	}
	return l
}

// A session that closed removed the lock and the .gitignore of other sessions in the same workspace.
func TestSessionsShareAWorkspace(t *testing.T) {
	t.Parallel()
	hidden, o := inside(t)
	first, second := openLayers(t, o), openLayers(t, o)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{stateLock, stateGit} {
		if _, err := os.Lstat(filepath.Join(hidden, name)); err != nil {
			t.Errorf("after the first session closed: %v", err)
		}
	}
	tr, err := second.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Drop(); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if exists(filepath.Dir(hidden)) {
		t.Error("the last session left its state directory")
	}
}

// Sessions may be opened and closed at the same time.
func TestSessionsOpenAndClose(t *testing.T) {
	t.Parallel()
	hidden, o := inside(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				l := openLayers(t, o)
				if text, err := os.ReadFile(filepath.Join(hidden, stateGit)); err != nil || string(text) != "*\n" {
					t.Errorf("%q %v", text, err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if exists(filepath.Dir(hidden)) {
		t.Error("the last session left its state directory")
	}
}

// A session that was killed leaves nothing in the workspace after the next one has started, even if that one has its state
// elsewhere.
func TestStateOfAKilledSession(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	hidden := filepath.Join(b.root, Hidden)
	for _, dir := range []string{"s-1/t1", "s-2", "try-1"} {
		if err := os.MkdirAll(filepath.Join(hidden, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.write(filepath.Join(Hidden, "s-1", lockName), "")
	b.write(filepath.Join(Hidden, stateGit), "*\n")
	if err := Recover(filepath.Join(t.TempDir(), "state"), []string{b.root}); err != nil {
		t.Error(err)
	}
	if exists(filepath.Dir(hidden)) {
		t.Error("it is still there")
	}
}
