package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model"
)

const week = 7 * 24 * time.Hour

// unused makes a session of several turns that was last used 8 days ago.
func unused(t *testing.T, s Sessions, n int, closed bool) {
	t.Helper()
	var more []Data
	for i := range 30 {
		more = append(more, Message{Message: model.Prompt(fmt.Sprint("next ", i, strings.Repeat(" word", 300)))})
	}
	if closed {
		more = append(more, Closed{Turns: 2, Model: "m2"})
	}
	record(t, s, id(n), "Fix the parser "+strings.Repeat("x", 90_000), 2, more...).Close()
	at := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(s.Path(id(n)), at, at); err != nil {
		t.Fatal(err)
	}
}

func archiveAll(t *testing.T, s Sessions) {
	t.Helper()
	if err := s.Archive(week, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
}

func (s Sessions) has(n int, name string) bool {
	_, err := os.Lstat(filepath.Join(s.Dir(id(n)), name))
	return err == nil
}

// An archived session is the same to every reader, and to one who continues it.
func TestArchive(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, true)
	unused(t, s, 2, false)
	record(t, s, id(3), "used today "+strings.Repeat("x", 90_000), 1).Close()
	before, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	_, state, err := s.View(id(1))
	if err != nil {
		t.Fatal(err)
	}
	whole := read(t, s.Path(id(1)))
	archiveAll(t, s)
	if !s.has(1, archiveName) || !s.has(2, archiveName) || s.has(3, archiveName) || s.has(1, newName) {
		t.Error("not the sessions that weren't used for a week")
	}
	if short := read(t, s.Path(id(1))); len(short) > len(whole)/4 {
		t.Errorf("%d of %d bytes are left", len(short), len(whole))
	}
	after, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		before[i].Bytes, after[i].Bytes = 0, 0
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the list: %s", diff)
	}
	f, again, err := s.View(id(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, again, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("the state: %s", diff)
	}
	if got, err := os.ReadDir(s.Dir(id(1))); err != nil || len(got) > 3 {
		t.Errorf("a reader left a file: %v, %v", got, err)
	}
	f.Close()
	archiveAll(t, s) // again: it stays
	w, _, err := s.Open(id(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(Entry{V: 1, Seq: w.Last() + 1, Type: TypeMode, Data: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
	w.Close()
	if now := read(t, s.Path(id(1))); !bytes.HasPrefix(now, whole) || len(now) == len(whole) || s.has(1, archiveName) {
		t.Error("continued: not the whole journal with the new entry")
	}
	if err := s.Fork(id(2), 0, id(9)); err != nil {
		t.Error(err)
	}
	if err := s.Delete(id(2)); err != nil || s.has(2, archiveName) {
		t.Errorf("delete: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Contents of archived sessions stay, even if a version of Adze cleans up that knows no archives: it searches the
// names in journal.jsonl.
func TestContentsOfArchivedSessionsStay(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, true)
	used := map[string]bool{}
	if err := s.namedIn(id(1), used); err != nil || len(used) == 0 {
		t.Fatalf("%v, %v", used, err)
	}
	archiveAll(t, s)
	named := map[string]bool{}
	if err := namedBy(bytes.NewReader(read(t, s.Path(id(1)))), named); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(used, named); diff != "" {
		t.Error(diff)
	}
}

// Earlier versions refuse to write what a newer version wrote, and skip its types: the session doesn't look empty.
func TestEarlierVersionsAndArchives(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, true)
	archiveAll(t, s)
	var types []Type
	for line := range bytes.Lines(read(t, s.Path(id(1)))) {
		e, ok := parse(bytes.TrimSuffix(line, []byte("\n")))
		if !ok || e.V != Version+1 || e.Seq != int64(len(types)+1) {
			t.Fatalf("%s", line)
		}
		types = append(types, e.Type)
	}
	want := []Type{TypeOpened, TypeMessage, typeArchived, typeArchived, TypeClosed}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	// A journal of a newer version isn't taken for an archived one.
	newer := `{"v":2,"seq":1,"at":"2026-11-16T12:00:00Z","type":"session.opened","data":{"id":"x","cwd":"/"}}` + "\n"
	if err := os.MkdirAll(s.Dir(id(2)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(id(2)), []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(id(2)); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer journal: %v", err)
	}
}

// A process that is killed while it archives or restores a session leaves all of its journal.
func TestKilledArchive(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, true)
	whole := read(t, s.Path(id(1)))
	archiveAll(t, s)
	archive := read(t, filepath.Join(s.Dir(id(1)), archiveName))
	for name, files := range map[string]map[string][]byte{
		"before the archive is complete": {journalName: whole, newName: archive[:len(archive)/2]},
		"before the short journal":       {journalName: whole, archiveName: archive},
		"before the archive is removed":  {journalName: whole, archiveName: archive, newName: whole[:10]},
	} {
		for path, content := range files {
			if err := os.WriteFile(filepath.Join(s.Dir(id(1)), path), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, state, err := s.View(id(1))
		if err != nil || state.Seq < 30 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
		at := time.Now().Add(-8 * 24 * time.Hour)
		os.Chtimes(s.Path(id(1)), at, at)
		archiveAll(t, s)
		if !s.has(1, archiveName) || s.has(1, newName) || len(read(t, s.Path(id(1)))) == len(whole) {
			t.Errorf("%s: not archived again", name)
		}
		if w, _, err := s.Open(id(1)); err != nil || !bytes.Equal(read(t, s.Path(id(1))), whole) {
			t.Errorf("%s: %v", name, err)
		} else {
			w.Close()
		}
	}
}

// A damaged archive can be read up to the damage. It isn't continued, because the rest would be lost.
func TestDamagedArchive(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, true)
	archiveAll(t, s)
	path := filepath.Join(s.Dir(id(1)), archiveName)
	archive := read(t, path)
	cut := archive[:len(archive)*3/4]
	wrong := bytes.Clone(archive)
	wrong[len(wrong)/2] ^= 0xff
	for name, content := range map[string][]byte{"cut": cut, "wrong": wrong, "empty": nil} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Open(id(1))
		if err == nil || !strings.Contains(err.Error(), archiveName+" can't be read to its end: ") {
			t.Errorf("%s: %v", name, err)
		}
		f, err := s.Entries(id(1))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		for _, err := range f.Read(1) {
			if err != nil {
				break
			}
			n++
		}
		f.Close()
		if name == "cut" && n < 5 || !s.has(1, archiveName) || f.damage == nil {
			t.Errorf("%s: %d entries, %v", name, n, f.damage)
		}
	}
}

// A session that a process has open isn't archived, and only one of two processes archives one.
func TestArchiveOfOpenSession(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	unused(t, s, 1, false)
	f, _, err := s.Open(id(1))
	if err != nil {
		t.Fatal(err)
	}
	archiveAll(t, s)
	if s.has(1, archiveName) {
		t.Error("it is in use")
	}
	f.Close()
	done := make(chan error)
	for range 4 {
		go func() { done <- s.Archive(week, time.Now(), nil) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w, _, err := s.Open(id(1))
	var used *InUseError
	if err != nil && !errors.As(err, &used) {
		t.Error(err)
	}
	if err == nil {
		w.Close()
	}
}

// The usage of an archived session is all of it, and so is that of one whose last line was cut. The size of the short
// journal once counted for the first, and reading the second never ended.
func TestSpentOfArchivedAndCutSessions(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for n := range 2 {
		var more []Data
		for i := range 50 {
			more = append(more, Answer{Turn: i + 1, Usage: model.Usage{Input: 10}, Message: model.Message{
				Role: model.Assistant, Parts: []model.Part{model.Text(strings.Repeat("word ", 200))},
			}})
		}
		record(t, s, id(n), "Fix the parser", 1, more...).Close()
	}
	spent := func() map[string]int {
		t.Helper()
		sum := map[string]int{}
		for one, err := range s.Spent(time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			sum[one.Session] += one.Usage.Input
		}
		return sum
	}
	before := spent()
	if err := os.WriteFile(s.Path(id(1)), append(read(t, s.Path(id(1))), `{"v":1,"seq":99`...), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(s.Path(id(0)), at, at); err != nil {
		t.Fatal(err)
	}
	archiveAll(t, s)
	if diff := cmp.Diff(before, spent()); diff != "" || before[id(0)] < 500 || !s.has(0, archiveName) {
		t.Errorf("%v: %s", before, diff)
	}
}
