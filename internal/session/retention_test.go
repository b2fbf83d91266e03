package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// Old sessions go when a session closes, with their saved results; live ones stay.
func TestOldSessionsAreDeleted(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	var ids []string
	var alive *Session
	for i := range 3 {
		s, c := d.open(t, &Recording{})
		d.say(t, c, "go")
		if _, err := s.long.Save("c1", "grep_search", "long"); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if i == 2 {
			alive = s
			continue
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	old := d.now.Add(-31 * 24 * time.Hour)
	for _, id := range []string{ids[0], ids[2]} {
		dir := (journal.Sessions{Home: d.home}).Dir(id)
		for _, path := range []string{filepath.Join(dir, "journal.jsonl"), dir} {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := d.open(t, &Recording{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		return slices.Equal(names(t, d.home, "sessions"), slices.Sorted(slices.Values(ids[1:])))
	}, "sessions "+strings.Join(ids[1:], " and ")+" are left")
	eventually(t, func() bool { return !slices.Contains(names(t, d.home, "spill"), ids[0]) }, "the saved results of "+ids[0]+" are gone")
	if left := names(t, d.home, "spill"); !slices.Contains(left, ids[1]) {
		t.Errorf("saved results left: %v of %v", left, ids)
	}
	alive.Close()
}

// Deleting ends when its time is over: it used to continue after the session was closed.
func TestDeletingEnds(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"})
	s, c := d.open(t, &Recording{})
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := d.now.Add(-31 * 24 * time.Hour)
	dir := (journal.Sessions{Home: d.home}).Dir(s.ID)
	for _, path := range []string{filepath.Join(dir, "journal.jsonl"), dir} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.clean(over); err != nil {
		t.Fatal(err)
	}
	if left := names(t, d.home, "sessions"); !slices.Contains(left, s.ID) {
		t.Errorf("deleted after the end: %v", left)
	}
	if err := s.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := names(t, d.home, "sessions"); slices.Contains(left, s.ID) {
		t.Errorf("not deleted: %v", left)
	}
}

// Above the limit the oldest sessions go first.
func TestSessionsOverTheLimitAreDeleted(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	var ids []string
	for i := range 2 {
		s, c := d.open(t, &Recording{})
		d.say(t, c, "go")
		if err := os.WriteFile(filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl.broken-1"), []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		past := d.now.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl"), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(`{"general":{"maxStateBytes":2000000}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := d.open(t, &Recording{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return slices.Equal(names(t, d.home, "sessions"), ids[1:]) }, "session "+ids[1]+" is left")
}

// eventually waits for what happens in the background.
func eventually(t *testing.T, done func() bool, what string) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("it didn't happen that %s", what)
		}
	}
}

func names(t *testing.T, path ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
