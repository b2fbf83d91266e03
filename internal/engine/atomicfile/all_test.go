package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func contentOf(s string) Content { return inMemory(s) }

func hashOf(s string) *Hash {
	h := sha256.Sum256([]byte(s))
	return &h
}

// batchIn returns steps that change, create and delete files of a directory.
func batchIn(dir string) []Step {
	return []Step{
		{filepath.Join(dir, "changed"), contentOf("new"), Options{Old: hashOf("old")}},
		{filepath.Join(dir, "sub", "made"), contentOf("made"), Options{}},
		{filepath.Join(dir, "gone"), nil, Options{Old: hashOf("going")}},
		{filepath.Join(dir, "last"), contentOf("LAST"), Options{Old: hashOf("last")}},
	}
}

func startBatch(t *testing.T, dir string) {
	t.Helper()
	put(t, filepath.Join(dir, "changed"), "old")
	put(t, filepath.Join(dir, "gone"), "going")
	put(t, filepath.Join(dir, "last"), "last")
	if err := os.Chmod(filepath.Join(dir, "gone"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// state returns the files of a directory with their contents and permissions.
func state(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, _ := os.ReadFile(path)
		fmt.Fprintf(&out, "%s %v %s\n", path[len(dir):], info.Mode(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAll(t *testing.T) {
	dir, saved := directoryOf(t), filepath.Join(directoryOf(t), "saved")
	startBatch(t, dir)
	if _, err := All(saved, batchIn(dir)); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "changed"), "new")
	holds(t, filepath.Join(dir, "sub", "made"), "made")
	holds(t, filepath.Join(dir, "last"), "LAST")
	for _, path := range []string{filepath.Join(dir, "gone"), saved} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A step that can't be prepared, and one that fails when those before it are done, leave everything as it was.
func TestAllOrNothing(t *testing.T) {
	for _, when := range []string{"before", "during"} {
		dir, saved := directoryOf(t), filepath.Join(directoryOf(t), "saved")
		startBatch(t, dir)
		last := filepath.Join(dir, "last")
		if when == "before" {
			put(t, last, "another")
		}
		before := state(t, dir)
		b := batch{dir: saved, at: func(done int) {
			if when == "during" && done == 3 {
				put(t, last, "another")
			}
		}}
		_, err := b.run(batchIn(dir))
		if err == nil {
			t.Fatal("no error")
		}
		if when == "during" {
			put(t, last, "last")
		}
		if now := state(t, dir); now != before {
			t.Errorf("%s: %v\nwas\n%snow\n%s", when, err, before, now)
		}
		if _, err := os.Lstat(saved); !os.IsNotExist(err) {
			t.Errorf("the saved contents stay: %v", err)
		}
	}
}

// A process that is killed between two steps leaves a part, which Recover undoes; after the last step nothing is left
// to do or all of it is undone.
func TestAllKilled(t *testing.T) {
	for at := range 5 {
		dir, saved := directoryOf(t), filepath.Join(directoryOf(t), "saved")
		startBatch(t, dir)
		before := state(t, dir)
		out, err := command("killed", dir, saved, strconv.Itoa(at)).CombinedOutput()
		if err == nil {
			t.Fatalf("the child was not killed: %s", out)
		}
		if state(t, dir) == before && at > 0 {
			t.Errorf("killed at %d: nothing was done", at)
		}
		if !Recover(saved) {
			t.Errorf("killed at %d: %s stays", at, saved)
		}
		Sweep(dir)
		Sweep(filepath.Join(dir, "sub"))
		os.Remove(filepath.Join(dir, "sub")) // it was made before the first step
		if now := state(t, dir); now != before {
			t.Errorf("killed at %d\nwas\n%snow\n%s", at, before, now)
		}
		if !Recover(saved) {
			t.Error("a second recovery fails")
		}
	}
}

// killed makes the steps in a directory, and exits without cleaning up at one of them.
func killed(dir, saved, at string) error {
	b := batch{dir: saved, at: func(done int) {
		if strconv.Itoa(done) == at {
			os.Exit(9)
		}
	}}
	_, err := b.run(batchIn(dir))
	return err
}

// Later changes of other programs are kept after a killed batch.
func TestRecoverSkipsChangedFiles(t *testing.T) {
	dir, saved := directoryOf(t), filepath.Join(directoryOf(t), "saved")
	startBatch(t, dir)
	if command("killed", dir, saved, "3").Run() == nil {
		t.Fatal("the child was not killed")
	}
	put(t, filepath.Join(dir, "changed"), "edited since")
	if !Recover(saved) {
		t.Error("the saved contents stay")
	}
	holds(t, filepath.Join(dir, "gone"), "going")
	if content, _ := os.ReadFile(filepath.Join(dir, "changed")); string(content) != "edited since" {
		t.Errorf("changed holds %q", content)
	}
}
