package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestTrustIsBoundToWhatWasSeen(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "home"))
	make := []Item{{What: "tools.toolDiscoveryCommand", Text: `"./tools"`}, {What: "permissions.allow", Text: `["Shell(make)"]`}}
	state := func(directory string, items ...Item) State {
		t.Helper()
		st, err := s.State(directory, items)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if got := state("/a", make...); got != Unknown {
		t.Errorf("before: %v", got)
	}
	if err := s.Trust("/a", make, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		directory string
		items     []Item
		want      State
	}{
		{"/a", make, Trusted},
		{"/a", []Item{make[1], make[0]}, Trusted},
		{"/a", make[:1], Changed},
		{"/a", append(make[:2:2], Item{What: "mcpServers.x", Text: "sh -c evil"}), Changed},
		{"/a", nil, Changed},
		{"/a/b", make, Unknown},
	} {
		if got := state(c.directory, c.items...); got != c.want {
			t.Errorf("%s %v: got %v, want %v", c.directory, c.items, got, c.want)
		}
	}
	if err := s.Forget("/a"); err != nil {
		t.Fatal(err)
	}
	if got := state("/a", make...); got != Unknown {
		t.Errorf("after: %v", got)
	}
}

// Two texts cannot be moved between the things of a list without another hash.
func TestHashTellsThingsApart(t *testing.T) {
	if Hash([]Item{{What: "a", Text: "b"}, {What: "c", Text: "d"}}) == Hash([]Item{{What: "a", Text: "b\" \"c"}, {Text: "d"}}) || Hash(nil) == Hash([]Item{{}}) {
		t.Error("different things have one hash")
	}
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := Open(home).Trust(fmt.Sprint("/", i), nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		if st, err := Open(home).State(fmt.Sprint("/", i), nil); err != nil || st != Trusted {
			t.Errorf("%d: %v, %v", i, st, err)
		}
	}
	info, err := os.Stat(filepath.Join(home, "trust.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// An unreadable store means not trusted, with an error.
func TestBrokenStore(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "trust.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := Open(home).State("/a", nil); err == nil || st != Unknown {
		t.Errorf("%v, %v", st, err)
	}
	if err := Open(home).Trust("/a", nil, nil); err == nil {
		t.Error("a broken store was overwritten")
	}
}
