//go:build unix

package journal

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/model"
)

// A full disk leaves no partial entry, and the writer writes nothing after the gap. A limit on file sizes simulates the
// disk, in a child, because it applies to a whole process.
func TestFullDisk(t *testing.T) {
	home := os.Getenv("ADZE_TEST_FULL")
	if home == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "ADZE_TEST_FULL="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000}); err != nil {
		t.Skip(err)
	}
	s := Sessions{Home: home}
	f := record(t, s, testID, "x", 1)
	w := NewWriter(f, s.Store(), State{Seq: 5})
	text := Message{Message: model.Prompt(strings.Repeat("x", 60_000))}
	if _, err := w.Write("", text); err != nil {
		t.Fatal(err)
	}
	_, err := w.Write("", text)
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("the second: %v", err)
	}
	if _, again := w.Write("", Mode{Mode: "plan"}); again == nil || again.Error() != err.Error() || w.Sync() == nil {
		t.Errorf("after the failure: %v, want %v", again, err)
	}
	// The file itself can be continued, where there is space again.
	if err := f.Append(Entry{V: 1, Seq: 7, Type: TypeMode, Data: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
	f.Close()
	again, state, err := s.Open(testID)
	if err != nil || state.Seq != 7 || again.Repair != (Repair{}) {
		t.Fatalf("entry %d, %v", state.Seq, err)
	}
	again.Close()
	// A content that doesn't fit leaves no file.
	if _, err := s.Store().Put(make([]byte, 200_000)); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a long content: %v", err)
	}
	left := 0
	filepath.WalkDir(filepath.Join(home, storeName), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left++
		}
		return nil
	})
	if left != 0 {
		t.Errorf("%d files in the store", left)
	}
}

// A directory that can't be written is an error, not a session without a journal. Root can write anywhere, so a file
// simulates the directory.
func TestReadOnlyHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.WriteFile(home, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	s := Sessions{Home: home}
	if f, err := s.Create(testID); err == nil {
		f.Close()
		t.Error("created a session in a file")
	}
	if _, err := s.Store().Put([]byte("x")); err == nil {
		t.Error("added a content in a file")
	}
	if all, err := s.List(); err == nil || len(all) > 0 {
		t.Errorf("list: %v, %v", all, err)
	}
	if os.Getuid() == 0 {
		return
	}
	s = Sessions{Home: t.TempDir()}
	record(t, s, testID, "x", 1).Close()
	path := filepath.Join(s.Dir(testID), journalName)
	os.Chmod(path, 0o400)
	if _, _, err := s.Open(testID); !errors.Is(err, os.ErrPermission) {
		t.Errorf("open: %v", err)
	}
	if _, state, err := s.View(testID); err != nil || state.Seq != 5 {
		t.Errorf("view: %v", err)
	}
}

// A full disk leaves a session as it was, whether it is archived or restored.
func TestArchiveOnFullDisk(t *testing.T) {
	home := os.Getenv("ADZE_TEST_FULL")
	if home == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestArchiveOnFullDisk$")
		cmd.Env = append(os.Environ(), "ADZE_TEST_FULL="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	s := Sessions{Home: home}
	for n := range 2 {
		unused(t, s, n, true)
	}
	whole := read(t, s.Path(id(0)))
	if err := s.archive(id(1)); err != nil {
		t.Fatal(err)
	}
	archive := read(t, filepath.Join(s.Dir(id(1)), archiveName))
	limit := uint64(len(archive)) / 2
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Skip(err)
	}
	if err := s.archive(id(0)); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("archive: %v", err)
	}
	if string(read(t, s.Path(id(0)))) != string(whole) || s.has(0, archiveName) || s.has(0, newName) {
		t.Error("archive: the session isn't as it was")
	}
	if _, _, err := s.Open(id(1)); !errors.Is(err, syscall.EFBIG) || strings.Contains(err.Error(), "damage") {
		t.Errorf("restore: %v", err)
	}
	if string(read(t, filepath.Join(s.Dir(id(1)), archiveName))) != string(archive) || s.has(1, newName) {
		t.Error("restore: the session isn't as it was")
	}
}
