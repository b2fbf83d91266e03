package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model"
)

// aged makes a session that was last used some days ago, with its own content and one that all share.
func aged(t *testing.T, s Sessions, n, days int) {
	t.Helper()
	own := strings.Repeat(id(n), 3000)
	record(t, s, id(n), own, 1, Message{Message: model.Prompt(strings.Repeat("shared ", 20_000))}).Close()
	at := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	for _, path := range []string{filepath.Join(s.Dir(id(n)), journalName), blobPath(t, s, own)} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func blobPath(t *testing.T, s Sessions, content string) string {
	t.Helper()
	path, err := s.Store().path(RefOf([]byte(content)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCleanByAge(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for n, days := range map[int]int{1: 40, 2: 31, 3: 29, 4: 0, 5: 50} {
		aged(t, s, n, days)
	}
	live, _, err := s.Open(id(5))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	os.MkdirAll(filepath.Join(s.Home, sessionsName, goneName+id(9)), 0o700) // left by a killed process
	var removed []string
	done, err := s.Clean(Limits{MaxAge: 30 * 24 * time.Hour, Removed: func(id string) int64 {
		removed = append(removed, id)
		return 7
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{id(1), id(2)}
	if !slices.Equal(done.Sessions, want) || !slices.Equal(removed, want) || done.Contents != 2 || done.Bytes < 200_000 {
		t.Errorf("%+v, %v", done, removed)
	}
	for n := range 5 {
		_, err := os.Stat(blobPath(t, s, strings.Repeat(id(n+1), 3000)))
		if gone := n < 2; gone != (err != nil) {
			t.Errorf("content of session %d: %v", n+1, err)
		}
	}
	for _, n := range []int{3, 4} {
		if _, _, err := s.View(id(n)); err != nil {
			t.Error(err)
		}
	}
	if ids, _ := s.IDs(); len(ids) != 3 {
		t.Errorf("left: %v", ids)
	}
	if _, err := os.Stat(filepath.Join(s.Home, sessionsName, goneName+id(9))); err == nil {
		t.Error("what a killed process left is still there")
	}
}

// The long texts of a session that the user deleted go too, once they aren't new. They stayed forever once limits deleted
// no sessions by default: only these cleaned the store.
func TestContentsOfDeletedSessions(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for n := range 2 {
		aged(t, s, n, 20)
	}
	if err := s.Delete(id(0)); err != nil {
		t.Fatal(err)
	}
	left := func(n int) bool {
		_, err := os.Stat(blobPath(t, s, strings.Repeat(id(n), 3000)))
		return err == nil
	}
	fresh, err := s.Store().Put([]byte("of a session that was deleted as soon as it ended"))
	if err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{0, 3 * newFor} {
		if _, err := s.Clean(Limits{Now: time.Now().Add(later)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Store().Get(fresh); left(0) || !left(1) || (err == nil) != (later == 0) {
			t.Errorf("after %v: %v, %v, %v", later, left(0), left(1), err)
		}
	}
	if _, err := os.Stat(s.deletedMark()); err == nil {
		t.Error("contents are searched again and again")
	}
}

func TestCleanByBytes(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for n := range 6 {
		aged(t, s, n, 20-n) // 0 is the oldest
	}
	live, _, err := s.Open(id(0))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	before, err := s.Size()
	if err != nil || before.Count != 6 {
		t.Fatalf("%+v, %v", before, err)
	}
	done, err := s.Clean(Limits{MaxBytes: 1_000_000 + before.Sessions + before.Contents - 250_000, Other: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{id(1), id(2)}; !slices.Equal(done.Sessions, want) {
		t.Errorf("removed %v, want %v", done.Sessions, want)
	}
	after, _ := s.Size()
	if got := before.Sessions + before.Contents - after.Sessions - after.Contents; got < 250_000 {
		t.Errorf("%d bytes less", got)
	}
	if _, err := s.Clean(Limits{MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := s.IDs(); !slices.Equal(ids, []string{id(0)}) {
		t.Errorf("left: %v, want only the one in use", ids)
	}
}

// A content that is needed again while it is being removed is kept.
func TestRemoveKeepsWhatIsNeededAgain(t *testing.T) {
	s := Sessions{Home: t.TempDir()}.Store()
	ref, err := s.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	path, _ := s.path(ref)
	old := time.Now().Add(-5 * time.Hour)
	os.Chtimes(path, old, old)
	if _, err := s.Put([]byte("content")); err != nil { // makes it new
		t.Fatal(err)
	}
	if err := s.remove(path, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(ref); string(b) != "content" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	os.Chtimes(path, old, old)
	if err := s.remove(path, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ref); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that it doesn't exist", err)
	}
}

// A killed process leaves a part of a content.
func TestStoreCompletesParts(t *testing.T) {
	s := Sessions{Home: t.TempDir()}.Store()
	ref, err := s.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	path, _ := s.path(ref)
	os.WriteFile(path, []byte("con"), 0o600)
	if again, err := s.Put([]byte("content")); again != ref || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if b, err := s.Get(ref); string(b) != "content" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := s.Sync(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestStoreDetectsChanges(t *testing.T) {
	s := Sessions{Home: t.TempDir()}.Store()
	ref, _ := s.Put([]byte("content"))
	path, _ := s.path(ref)
	os.WriteFile(path, []byte("changed"), 0o600)
	if b, err := s.Get(ref); err == nil {
		t.Errorf("%q has another hash", b)
	}
	for _, bad := range []string{"", "sha256:", "sha256:../../../../etc/passwd", "md5:00", "sha256:" + strings.Repeat("A", 64)} {
		if _, err := s.Get(Ref{Blob: bad}); err == nil {
			t.Errorf("read %q", bad)
		}
	}
}

func TestNamesAreFoundAcrossReads(t *testing.T) {
	serial.Test(t)
	name := RefOf(nil).Blob
	for before := range 200 {
		content := strings.Repeat("s", before) + name + " sha256: " + name[:30]
		for _, r := range []func(b []byte) map[string]bool{
			func(b []byte) map[string]bool {
				used := map[string]bool{}
				namedBy(iotest.OneByteReader(bytes.NewReader(b)), used)
				return used
			},
			func(b []byte) map[string]bool {
				used := map[string]bool{}
				namedBy(bytes.NewReader(append(bytes.Repeat([]byte("x"), 1<<20-150), b...)), used)
				return used
			},
		} {
			if used := r([]byte(content)); !used[name] {
				t.Fatalf("after %d bytes: %v", before, used)
			}
		}
	}
}
