//go:build unix

package atomicfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestModeStays(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o444, 0o755 | fs.ModeSetuid, 0o750 | fs.ModeSetgid, 0o640 | fs.ModeSticky} {
		path := filepath.Join(directoryOf(t), "f")
		old := put(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		info, _ := os.Stat(path)
		if info.Mode() != mode {
			continue // this system does not take it
		}
		if _, err := Write(path, []byte("new"), Options{Old: old}); err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
		if info, _ := os.Stat(path); info.Mode() != mode {
			t.Errorf("mode %v became %v", mode, info.Mode())
		}
	}
}

// As another user: a directory that is not writable, a file of another, a file that may
// not be written.
func TestAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become nobody")
	}
	dir := nobodysDirectory(t)
	if out, err := command("nobody", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// nobodysDirectory is in a directory that every user can enter, unlike t.TempDir's parents under some settings.
func nobodysDirectory(t *testing.T) string {
	dir, err := os.MkdirTemp("", "adze-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]fs.FileMode{"": 0o755, "closed": 0o755, "open": 0o777 | fs.ModeSticky, "state": 0o777} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, name), 0o755), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]fs.FileMode{"closed/writable": 0o666, "closed/readable": 0o644, "open/others": 0o666} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func playUnix(part string, args []string) error {
	switch part {
	case "nobody":
		return asNobody(args[0])
	case "full":
		return onFullDisk(args[0])
	}
	return fmt.Errorf("no part %q", part)
}

func asNobody(dir string) error {
	// The test binary may be where that user can't start it, so root starts it.
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
		return err
	}
	old := sha256.Sum256([]byte("old"))
	o := Options{Old: &old, Backup: filepath.Join(dir, "state", "backup")}
	var errs []error
	inPlace := func(name, why string) {
		out, err := Write(filepath.Join(dir, name), []byte("new and longer"), o)
		content, _ := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(out.InPlace, why) || string(content) != "new and longer" {
			errs = append(errs, fmt.Errorf("%s: %+v, %w, %q", name, out, err, content))
		}
		if saved, _ := os.ReadFile(out.Backup); string(saved) != "old" {
			errs = append(errs, fmt.Errorf("%s: the backup %q holds %q", name, out.Backup, saved))
		}
	}
	inPlace("closed/writable", "directory is not writable")
	inPlace("open/others", "owner")
	refused := func(name string, o Options) {
		if _, err := Write(filepath.Join(dir, name), []byte("new"), o); !errors.Is(err, fs.ErrPermission) {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	refused("closed/readable", o)
	refused("closed/new", Options{})
	refused("closed/sub/new", Options{})
	if content, _ := os.ReadFile(filepath.Join(dir, "closed/readable")); string(content) != "old" {
		errs = append(errs, fmt.Errorf("a file that may not be written holds %q", content))
	}
	for _, sub := range []string{"closed", "open"} {
		entries, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, e := range entries {
			if IsTemp(e.Name()) {
				errs = append(errs, fmt.Errorf("%s is left", e.Name()))
			}
		}
	}
	return errors.Join(errs...)
}

// A writer in another container is alive though its process ID means nothing here: its file was swept, and its rename failed.
func TestSweepKeepsClaimedFiles(t *testing.T) {
	dir := directoryOf(t)
	path := filepath.Join(dir, ".adze-999999999-0123456789abcdef.tmp")
	put(t, path, "half")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	release, ok := claim(f)
	f.Close()
	if !ok {
		t.Fatal("not claimed")
	}
	if _, err := Write(filepath.Join(dir, "f"), nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error("the file of a living writer was removed")
	}
	if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := claim(f); ok {
		t.Error("claimed twice")
	}
	f.Close()
	release()
	if _, err := Write(filepath.Join(dir, "g"), nil, Options{}); err != nil {
		t.Fatal(err)
	}
	noTemps(t, dir)
}

func TestOwnerStays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(directoryOf(t), "f")
	old := put(t, path, "old")
	if err := os.Chown(path, 1234, 4321); err != nil {
		t.Skipf("chown: %v", err)
	}
	os.Chmod(path, 0o755|fs.ModeSetuid)
	out, err := Write(path, []byte("new"), Options{Old: old})
	if err != nil || out.InPlace != "" {
		t.Fatalf("%+v, %v", out, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Uid != 1234 || st.Gid != 4321 || st.Mode&0o7777 != 0o4755 {
		t.Errorf("owner %d:%d, mode %o (%v)", st.Uid, st.Gid, st.Mode&0o7777, err)
	}
}
