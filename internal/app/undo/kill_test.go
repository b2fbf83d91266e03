package undo_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
)

// TestKilled: an undo that is killed leaves each file old or new, and a second one finishes it.
func TestKilled(t *testing.T) {
	if os.Getenv("ADZE_UNDO_KILL") != "" {
		beKilled(t)
		return
	}
	const files = 120
	for _, after := range []int{1, files / 3, files - 10} {
		p := newPlace(t)
		for i := range files {
			p.write(fmt.Sprintf("d%02d/f%04d", i%30, i), fmt.Sprint("old ", i))
		}
		p.write("odd", "a file")
		p.write("dir/x", "in a directory")
		was := p.tree()
		found := p.call(func() {
			for i := range files {
				p.write(fmt.Sprintf("d%02d/f%04d", i%30, i), fmt.Sprint("new ", i))
			}
			p.remove("odd")
			p.write("odd/inside", "1")
			p.remove("dir")
			p.write("dir", "2")
			p.write("made/deep/file", "3")
		})
		now := p.tree()
		raw, err := json.Marshal(undo.Journaled(found.Changes))
		if err != nil {
			t.Fatal(err)
		}
		list := filepath.Join(t.TempDir(), "changes")
		if err := os.WriteFile(list, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), "ADZE_UNDO_KILL="+list, "ADZE_UNDO_HOME="+p.home)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		restored := func() int {
			n := 0
			for i := range files {
				content, err := os.ReadFile(p.path(fmt.Sprintf("d%02d/f%04d", i%30, i)))
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(string(content), "old ") {
					n++
				}
			}
			return n
		}
		for deadline := time.Now().Add(time.Minute); restored() < after && time.Now().Before(deadline); {
			continue
		}
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
		half := p.tree()
		for path, text := range half {
			if temp := strings.HasPrefix(filepath.Base(path), ".adze-undo-"); text != was[path] && text != now[path] && !temp && !strings.HasPrefix(text, "d") {
				t.Errorf("killed after %d: %s is %q", after, path, text)
			}
		}
		begun := map[string]bool{}
		for _, c := range found.Changes {
			begun[c.Path] = true
		}
		if _, left := p.undo(found.Changes, undo.PlanOptions{Begun: begun}); len(left) > 0 {
			t.Errorf("killed after %d: left %v", after, left)
		}
		p.same(was, fmt.Sprint("killed after ", after))
	}
}

// beKilled undoes the changes of a file.
func beKilled(t *testing.T) {
	raw, err := os.ReadFile(os.Getenv("ADZE_UNDO_KILL"))
	if err != nil {
		t.Fatal(err)
	}
	var changes []journal.Change
	if err := json.Unmarshal(raw, &changes); err != nil {
		t.Fatal(err)
	}
	store, err := undo.OpenStore(os.Getenv("ADZE_UNDO_HOME"), "s")
	if err != nil {
		t.Fatal(err)
	}
	undo.NewPlan(undo.FromJournal(changes), store, undo.PlanOptions{}).Apply()
}
