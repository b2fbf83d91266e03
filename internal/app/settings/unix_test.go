//go:build unix

package settings

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A clone can hold a named pipe as its settings: opening it would hang.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := Load(Sources{AdzeHome: filepath.Dir(path)})
	if want := "read settings " + path + ": not a regular file"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Root may read everything, so as root a child with another user does the reading.
func TestUnreadable(t *testing.T) {
	if path := os.Getenv("ADZE_TEST_UNREADABLE"); path != "" {
		if err := syscall.Setuid(65534); err != nil {
			t.Skip(err)
		}
		checkUnreadable(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		checkUnreadable(t, path)
		return
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnreadable$")
	cmd.Env = append(os.Environ(), "ADZE_TEST_UNREADABLE="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkUnreadable(t *testing.T, path string) {
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err) // the file itself must be what cannot be read
	}
	_, err := Load(Sources{AdzeHome: filepath.Dir(path)})
	if want := "read settings " + path + ": permission denied"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want %s", err, want)
	}
}
