package spill

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func sessions(t *testing.T, state string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(state, "spill"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestClean(t *testing.T) {
	state := t.TempDir()
	if err := Clean(state, time.Now(), Age, nil); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	for _, name := range []string{"alive", "ended"} {
		save(t, open(t, state, name, Limits{}), "x")
	}
	for _, name := range []string{"ended", "resumed"} {
		d := open(t, state, name, Limits{})
		save(t, d, "y")
		if name == "resumed" {
			save(t, open(t, state, name, Limits{}), "z") // a second run, still alive
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(state, "spill", ".gone-1", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "spill", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"alive", "ended", "file", "resumed"}},
		{Age - time.Minute, []string{"alive", "ended", "file", "resumed"}},
		{Age + time.Minute, []string{"alive", "ended", "file", "resumed"}}, // the first run of "ended" lives
	}
	for _, step := range steps {
		if err := Clean(state, time.Now().Add(step.after), Age, nil); err != nil {
			t.Error(err)
		}
		if got := sessions(t, state); !slices.Equal(got, step.want) {
			t.Errorf("after %v: %v, want %v", step.after, got, step.want)
		}
	}
}

func TestCleanRemovesEndedOnly(t *testing.T) {
	state := t.TempDir()
	alive, ended := open(t, state, "alive", Limits{}), open(t, state, "ended", Limits{})
	save(t, alive, "x")
	save(t, ended, "x")
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, d := range []*Dir{alive, ended} {
		if err := os.Chtimes(d.Root(), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	// A session ages from its end, not from the last thing it kept.
	if err := Clean(state, time.Now(), Age, nil); err != nil {
		t.Error(err)
	}
	if got := sessions(t, state); !slices.Equal(got, []string{"alive", "ended"}) {
		t.Errorf("at the end of the session: %v", got)
	}
	if err := Clean(state, time.Now().Add(Age+time.Minute), Age, nil); err != nil {
		t.Error(err)
	}
	if got := sessions(t, state); !slices.Equal(got, []string{"alive"}) {
		t.Errorf("a week later: %v", got)
	}
	save(t, alive, "y")
	save(t, open(t, state, "ended", Limits{}), "resumed")
}

// Sessions that begin while old directories are removed lose nothing.
func TestCleanBesideSessions(t *testing.T) {
	state := t.TempDir()
	stop := make(chan struct{})
	var cleaners, savers sync.WaitGroup
	for range 2 {
		cleaners.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := Clean(state, time.Now().Add(2*Age), Age, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		savers.Go(func() {
			for range 25 {
				d, err := Open(state, "same", Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					s, err := d.Save("a", "b", "text")
					if err != nil {
						t.Error(err)
						continue
					}
					if b, err := os.ReadFile(s.Path); string(b) != "text" {
						t.Errorf("%s: %q, %v", s.Path, b, err)
					}
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	savers.Wait()
	close(stop)
	cleaners.Wait()
}

// The files of a recorded session stay as long as the session, and go with it.
func TestFilesGoWithTheirSession(t *testing.T) {
	state := t.TempDir()
	const kept, other = "0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b", "1b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b"
	for _, id := range []string{kept, other} {
		d := open(t, state, id, Limits{})
		save(t, d, "x")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(state, time.Now().Add(2*Age), Age, func(id string) bool { return id == kept }); err != nil {
		t.Error(err)
	}
	if got := sessions(t, state); !slices.Equal(got, []string{kept}) {
		t.Errorf("kept %v", got)
	}
	alive := open(t, state, other, Limits{})
	save(t, alive, "x")
	for _, id := range []string{kept, other, "unknown"} {
		if _, err := Remove(state, id); err != nil {
			t.Error(id, err)
		}
	}
	if got := sessions(t, state); !slices.Equal(got, []string{other}) {
		t.Errorf("after Remove: %v", got)
	}
}
