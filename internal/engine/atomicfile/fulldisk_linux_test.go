package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAttributesStay(t *testing.T) {
	path := filepath.Join(directoryOf(t), "f")
	old := put(t, path, "old")
	if err := unix.Setxattr(path, "user.adze", []byte("kept"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}
	if _, err := Write(path, []byte("new"), Options{Old: old}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.adze", buf)
	if err != nil || string(buf[:n]) != "kept" {
		t.Errorf("the attribute is %q (%v)", buf[:max(n, 0)], err)
	}
}

// A real full disk, a real mount point and a real read-only file system, in
// their own namespaces.
func TestFullDisk(t *testing.T) {
	dir := directoryOf(t)
	cmd := command("full", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), "cannot mount") {
		t.Skipf("namespaces or mounts are not allowed here: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func onFullDisk(dir string) error {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	return errors.Join(noRoom(dir), noRoomForAll(dir), mountPoint(dir), readOnly(dir))
}

// noRoom fills the disk and looks that a write that does not fit changes nothing.
func noRoom(dir string) error {
	path, hard := filepath.Join(dir, "f"), filepath.Join(dir, "hard")
	old := bytes.Repeat([]byte("o"), 60<<10)
	var errs []error
	for _, p := range []string{path, hard} {
		errs = append(errs, os.WriteFile(p, old, 0o644))
	}
	errs = append(errs, os.Link(hard, hard+"2"))
	hash := sha256.Sum256(old)
	backup, err := os.MkdirTemp("/dev/shm", "adze-backup-")
	if err != nil {
		backup = filepath.Join(dir, "..", "backup")
	}
	defer os.RemoveAll(backup)
	o := Options{Old: &hash, Backup: backup}
	big := bytes.Repeat([]byte("n"), 400<<10)
	for _, p := range []string{path, hard, filepath.Join(dir, "sub", "new")} {
		opts := o
		if strings.Contains(p, "new") {
			opts = Options{}
		}
		if _, err := Write(p, big, opts); !errors.Is(err, syscall.ENOSPC) {
			errs = append(errs, fmt.Errorf("%s on a full disk: %w", p, err))
		}
	}
	for _, p := range []string{path, hard} {
		if now, _ := os.ReadFile(p); !bytes.Equal(now, old) {
			errs = append(errs, fmt.Errorf("%s has changed to %d bytes", p, len(now)))
		}
	}
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if n.Name() != "f" && n.Name() != "hard" && n.Name() != "hard2" {
			errs = append(errs, fmt.Errorf("%s is left", n.Name()))
		}
	}
	return errors.Join(errs...)
}

// mountPoint writes to a file on which another is mounted: no rename can.
func mountPoint(dir string) error {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(a, []byte("old"), 0o644), os.WriteFile(b, nil, 0o644)); err != nil {
		return err
	}
	if err := unix.Mount(a, b, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	hash := sha256.Sum256([]byte("old"))
	out, err := Write(b, []byte("new"), Options{Old: &hash, Backup: filepath.Join(dir, "backup")})
	now, _ := os.ReadFile(a)
	if err != nil || !strings.Contains(out.InPlace, "mount point") || string(now) != "new" {
		return fmt.Errorf("a mount point: %+v, %w, %q", out, err, now)
	}
	return nil
}

func readOnly(dir string) error {
	if err := unix.Mount("none", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	hash := sha256.Sum256([]byte("new"))
	for _, o := range []Options{{Old: &hash}, {}} {
		path := filepath.Join(dir, "a")
		if o.Old == nil {
			path += "-new"
		}
		if _, err := Write(path, []byte("x"), o); !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("on a read-only file system: %w", err)
		}
	}
	return nil
}

// noRoomForAll looks that steps of which the last one doesn't fit change nothing.
func noRoomForAll(dir string) error {
	path := filepath.Join(dir, "first")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		return err
	}
	_, err := All("", []Step{
		{path, contentOf("new"), Options{Old: hashOf("old")}},
		{filepath.Join(dir, "second"), inMemory(bytes.Repeat([]byte("n"), 400<<10)), Options{}},
	})
	var step *StepError
	if !errors.As(err, &step) || step.Index != 1 || !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("steps that do not fit: %v", err)
	}
	content, err := os.ReadFile(path)
	if _, there := os.Lstat(filepath.Join(dir, "second")); there == nil || string(content) != "old" {
		return fmt.Errorf("first holds %q (%v), second: %v", content, err, there)
	}
	return os.Remove(path)
}
