package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// manyKinds is a command with effects of every kind in the tree of kinds.
const manyKinds = "echo new > changed; mkdir -p fresh/deep; echo x > fresh/deep/f; rm gone; rm -rf gonedir; chmod 600 mode; " +
	"echo more >> two; rm -rf swapped; mkdir swapped; echo y > swapped/y; ln unchanged another; chmod 700 dir; echo z > dir/z; " +
	"ln unchanged fresh/deep/l; ln unchanged swapped/l; ln two swapped/two"

// kinds is a tree for manyKinds.
func (b *bench) kinds() {
	b.t.Helper()
	for _, name := range []string{"changed", "gone", "gonedir/a", "gonedir/b", "mode", "two", "swapped/x", "unchanged", "dir/w", "outside"} {
		b.write(name, "old "+name+"\n")
	}
	if err := os.Link(filepath.Join(b.root, "two"), filepath.Join(b.root, "twin")); err != nil {
		b.t.Fatal(err)
	}
}

// points returns the points of keeping manyKinds.
func points(t *testing.T) []string {
	b := opened(t, Options{})
	b.kinds()
	var all []string
	b.layers.at = func(point string) { all = append(all, point) }
	tr, _, _ := b.try(manyKinds)
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d points: %v", len(all), all)
	}
	return all
}

// keptSnapshot returns what keeping manyKinds leaves.
func keptSnapshot(t *testing.T) string {
	b := opened(t, Options{})
	b.kinds()
	tr, _, _ := b.try(manyKinds)
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	tr.Drop()
	return snapshot(t, b.root)
}

// Whenever something else writes to a file that is to be kept, either it was
// before and the trial isn't kept, or it was after. Its write is never lost.
func TestWritesFromOutside(t *testing.T) {
	t.Parallel()
	all := points(t)
	b := opened(t, Options{})
	names := []string{"changed", "gone", "mode", "two", "gonedir/a", "swapped/x", "fresh", "another", "dir/z"}
	shift := rand.IntN(len(names))
	for n := range all {
		for i, name := range names {
			if (n+shift)%len(names) != i && soak.Share() < 1 {
				continue // one at each point
			}
			emptied(t, b.root)
			b.kinds()
			const theirs = "from outside\n"
			at := 0
			b.layers.at = func(string) {
				if at == n {
					writeOutside(filepath.Join(b.root, name), theirs)
				}
				at++
			}
			tr, _, _ := b.try(manyKinds)
			_, err := tr.Keep(context.Background(), nil)
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Fatalf("%s at %q: %v", name, all[n], err)
			}
			got := b.read(name)
			for _, inside := range []string{"", "/deep/f", "/y"} { // it may be a directory again
				got += b.read(name + inside)
			}
			if at > n && !strings.Contains(got, theirs) && !lostOK(b, name, theirs) {
				t.Errorf("%s at %q: lost: %q, %v", name, all[n], got, err)
			}
			if err == nil && at <= n {
				t.Errorf("%s at %q: not reached", name, all[n])
			}
			tr.Drop()
			if t.Failed() {
				return
			}
		}
	}
}

// lostOK reports whether the write could not be done at all: a name of a directory.
func lostOK(b *bench, name, theirs string) bool {
	st, err := os.Stat(filepath.Join(b.root, name))
	return err == nil && st.IsDir() || err != nil && strings.Contains(name, "/")
}

// writeOutside writes as an editor does that replaces files, or creates them.
func writeOutside(path, text string) {
	if os.WriteFile(path+".tmp", []byte(text), 0o644) == nil {
		if os.Rename(path+".tmp", path) != nil {
			os.Remove(path + ".tmp")
		}
	}
}

// A program that is killed while it keeps a trial has kept it or not.
func TestKilledWhileKeeping(t *testing.T) {
	t.Parallel()
	serial.Test(t)
	all, whole := points(t), keptSnapshot(t)
	odd := rand.IntN(2)
	for n := range all {
		if n%2 != odd && soak.Share() < 1 {
			continue
		}
		b := opened(t, Options{})
		b.kinds()
		nothing := snapshot(t, b.root)
		state := b.killedAt(n)
		if err := Recover(state, []string{b.root}); err != nil {
			t.Fatalf("at %q: %v", all[n], err)
		}
		switch got := snapshot(t, b.root); got {
		case nothing:
			if all[n] == "after the end" {
				t.Errorf("at %q: nothing was kept", all[n])
			}
		case whole:
			if all[n] != "after the end" {
				t.Errorf("at %q: it was kept", all[n])
			}
		default:
			t.Errorf("at %q: neither whole nor nothing:\n%s", all[n], diff(nothing, got))
		}
		left, _ := filepath.Glob(filepath.Join(state, "*-*"))
		if len(left) > 0 {
			t.Errorf("at %q: left: %v", all[n], left)
		}
	}
}

// killedAt runs a program that keeps manyKinds and is killed at a point. It returns its state directory.
func (b *bench) killedAt(n int) (state string) {
	b.t.Helper()
	base := filepath.Dir(b.root)
	c := exec.Command("/proc/self/exe", "-test.run=^TestKilledChild$")
	c.Env = append(os.Environ(), "TRIAL_KILLED="+base, "TRIAL_POINT="+strconv.Itoa(n))
	text, err := c.CombinedOutput()
	if !strings.Contains(fmt.Sprint(err), "killed") {
		b.t.Fatalf("at point %d: not killed: %v\n%s", n, err, text)
	}
	return filepath.Join(base, "killed-state")
}

// Data written to a hard-linked file after a kill is never lost.
func TestWrittenAfterKill(t *testing.T) {
	t.Parallel()
	n := slices.IndexFunc(points(t), func(point string) bool { return strings.HasPrefix(point, "written ") })
	if n < 0 {
		t.Fatal("no file is written in place")
	}
	b := opened(t, Options{})
	b.kinds()
	state := b.killedAt(n)
	path := filepath.Join(b.root, "two")
	const theirs = "old two\nmore\nfrom outside\n"
	if err := os.WriteFile(path, []byte(theirs), 0o644); err != nil { // in place
		t.Fatal(err)
	}
	if err := Recover(state, []string{b.root}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("recovered: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != theirs {
		t.Errorf("the file is %q", got)
	}
}

func TestPartlyWritten(t *testing.T) {
	for _, c := range []struct {
		now, old, written string
		want              bool
	}{
		{"old", "old", "new one", true},
		{"new one", "old", "new one", true},
		{"new o", "old", "new one", true},
		{"nld", "old", "new one", true},
		{"new", "old text", "new", true},
		{"new text", "old text", "new", true},
		{"old t", "old text", "new", true}, // being set back
		{"", "old", "", true},
		{"", "old", "new", false},
		{"ne", "old", "new", false},
		{"new one!", "old", "new one", false},
		{"their", "old", "new one", false},
	} {
		got, err := partlyWritten(strings.NewReader(c.now), strings.NewReader(c.old), strings.NewReader(c.written))
		if err != nil || got != c.want {
			t.Errorf("%q of %q and %q: %v, %v", c.now, c.old, c.written, got, err)
		}
	}
}

// TestKilledChild is the program that is killed.
func TestKilledChild(t *testing.T) {
	base := os.Getenv("TRIAL_KILLED")
	if base == "" {
		t.Skip("is started by TestKilledWhileKeeping")
	}
	n, _ := strconv.Atoi(os.Getenv("TRIAL_POINT"))
	b := &bench{t: t, root: filepath.Join(base, "ws")}
	b.openIn(Options{State: filepath.Join(base, "killed-state"), Roots: []string{b.root}})
	b.layers.at = func(string) {
		if n--; n < 0 {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	tr, _, _ := b.try(manyKinds)
	tr.Keep(context.Background(), nil)
}
