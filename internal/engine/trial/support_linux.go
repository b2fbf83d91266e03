package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrUnsupported)
}

// supported returns why the kernel doesn't support trials, or nil.
func supported(without sandbox.Layers) error {
	if _, err := (&sandbox.Spec{Mode: sandbox.Trial, Trial: &sandbox.Trials{}, Without: without}).Plan(); err != nil {
		return unsupported("%v", err)
	}
	text, err := os.ReadFile("/proc/filesystems")
	if err == nil && !strings.Contains(string(text), "\toverlay\n") {
		// It may be a module that is loaded by the first mount.
		if fd, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC); err == unix.ENODEV {
			return unsupported("this kernel has no overlayfs")
		} else if err == nil {
			unix.Close(fd)
		}
	}
	return nil
}

// check returns why the workspace can't have overlays now, or nil.
func (l *Layers) check() (mounts []string, err error) {
	if mounts, err = l.mounts.list(); err != nil {
		return nil, unsupported("%v", err)
	}
	for _, p := range l.kept {
		if m := mountIn(mounts, p.path); m != "" {
			return nil, unsupported("%s is a mount point in the workspace", m)
		}
		if id, ok := identify(p.path); !ok || id != p.id {
			return nil, unsupported("%s was replaced since the session started", p.path)
		}
	}
	return mounts, nil
}

// mountIn returns a mount point below a directory, or "".
func mountIn(mounts []string, dir string) string {
	for _, m := range mounts {
		if m != dir && names.Below(m, dir) {
			return m
		}
	}
	return ""
}

// choose selects the directory for the uppers: on the same mount, so that files can be moved.
func (l *Layers) choose(p *keptDir) error {
	var ok bool
	if p.id, ok = identify(p.path); !ok {
		return unsupported("%s is not a directory", p.path)
	}
	if err := owned(p.path); err != nil {
		return err
	}
	var why error
	for _, state := range []string{l.o.State, filepath.Join(p.path, Hidden)} {
		if names.Below(p.path, state) {
			continue
		}
		if why = tryState(state, p.path); why == nil {
			p.dir = state
			return nil
		}
	}
	return why
}

// tryState returns why a state directory doesn't suit a path, or nil. It removes one that no session uses.
func tryState(state, path string) error {
	all, err := makeState(state)
	if err != nil {
		return unsupported("%v", err)
	}
	defer all.Close()
	if err := suits(state, path); err != nil {
		removeUnused(state)
		return err
	}
	return nil
}

// suits returns why changes in a state directory can't be moved to a path, or nil.
func suits(state, path string) error {
	a, err := mountOf(state)
	if err != nil {
		return unsupported("%v", err)
	}
	b, err := mountOf(path)
	if err != nil {
		return unsupported("%v", err)
	}
	if a != b {
		return unsupported("%s is on another mount than %s", state, path)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(state, &st); err != nil {
		return unsupported("%v", err)
	}
	if st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return unsupported("%s is on overlayfs itself, as in a container", path)
	}
	if err := unix.Setxattr(state, "user.overlay.try", []byte("y"), 0); err != nil {
		return unsupported("the file system of %s has no user attributes (%v)", path, err)
	}
	unix.Removexattr(state, "user.overlay.try")
	return exchanges(state)
}

// exchanges returns why files in a directory can't be exchanged, or nil.
func exchanges(dir string) error {
	own, err := os.MkdirTemp(dir, tryPrefix)
	if err != nil {
		return unsupported("%v", err)
	}
	defer os.RemoveAll(own)
	a, b := filepath.Join(own, "a"), filepath.Join(own, "b")
	if err := errors.Join(os.WriteFile(a, nil, 0o600), os.WriteFile(b, nil, 0o600)); err != nil {
		return unsupported("%v", err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return unsupported("the file system can't exchange files (%v)", err)
	}
	return nil
}

// owned returns why a directory isn't the user's own, or nil. The user namespace of a trial has no other owner and
// group, except for root.
func owned(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return unsupported("%s: %v", path, err)
	}
	if uid := os.Getuid(); uid != 0 && (int(st.Uid) != uid || int(st.Gid) != os.Getgid()) {
		return unsupported("%s belongs to user %d and group %d, not to yours", path, st.Uid, st.Gid)
	}
	return nil
}

// mountOf returns the mount that a path is on.
func mountOf(path string) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return 0, &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return 0, errors.New("this kernel doesn't tell mounts apart (requires Linux 5.8)")
	}
	return st.Mnt_id, nil
}

// mountTable has the mount points of this process. The kernel reports a change to who has the file open, so it isn't
// read before each trial.
type mountTable struct {
	mu     sync.Mutex
	fd     int // of the file, if points isn't nil
	points []string
}

// list returns all mount points.
func (t *mountTable) list() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const path = "/proc/self/mountinfo"
	if t.points != nil {
		changed := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLPRI}}
		if n, err := unix.Poll(changed, 0); n == 0 && err == nil {
			return t.points, nil
		}
	} else {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) // an os.File would be polled by the runtime
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		t.fd = fd
	}
	text, err := os.ReadFile(path)
	if err != nil {
		unix.Close(t.fd)
		t.points = nil
		return nil, err
	}
	t.points = []string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			t.points = append(t.points, unescaped(fields[4]))
		}
	}
	return t.points, nil
}

func (t *mountTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.points != nil {
		unix.Close(t.fd)
		t.points = nil
	}
}

// unescaped returns a path without the escapes of mountinfo.
func unescaped(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

func identify(path string) (sandbox.ID, bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return sandbox.ID{}, false
	}
	return sandbox.ID{Dev: st.Dev, Ino: st.Ino}, true
}

// makeUpper creates an upper with the attributes of its lower, and a work directory. made means that both exist and are
// empty.
func makeUpper(o sandbox.Overlay, made bool) error {
	var st, have unix.Stat_t
	err := unix.Stat(o.Lower, &st)
	if err == unix.ENOENT && o.Instead {
		return os.Mkdir(o.Upper, 0o700)
	}
	if err != nil {
		return &fs.PathError{Op: "stat", Path: o.Lower, Err: err}
	}
	if made {
		if err := unix.Lstat(o.Upper, &have); err != nil {
			return &fs.PathError{Op: "stat", Path: o.Upper, Err: err}
		}
	} else {
		if err := os.Mkdir(o.Upper, 0o700); err != nil {
			return err
		}
		if !o.Instead {
			if err := os.Mkdir(o.Work, 0o700); err != nil {
				return err
			}
		}
	}
	if os.Getuid() == 0 && (!made || have.Uid != st.Uid || have.Gid != st.Gid) {
		// A user namespace may lack the owner, and root may lack the capability.
		err := os.Chown(o.Upper, int(st.Uid), int(st.Gid))
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	copyAttributes(o.Lower, o.Upper)
	if made && have.Mode == st.Mode {
		return nil
	}
	return unix.Chmod(o.Upper, st.Mode&0o7777)
}

// fence returns a time of a directory's file system: earlier changes have an older ctime, later ones don't.
func fence(dir string) (unix.Timespec, error) {
	path := filepath.Join(dir, fenceName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return unix.Timespec{}, err
	}
	defer f.Close()
	var first, now unix.Stat_t
	if err := f.Chmod(0o600); err != nil { // the file may be an old one
		return unix.Timespec{}, err
	}
	if err := unix.Fstat(int(f.Fd()), &first); err != nil {
		return unix.Timespec{}, err
	}
	// If file times are coarse, this takes one tick.
	for pause := time.Duration(0); ; pause = 100 * time.Microsecond {
		time.Sleep(pause)
		if err := f.Chmod(0o600); err != nil {
			return unix.Timespec{}, err
		}
		if err := unix.Fstat(int(f.Fd()), &now); err != nil {
			return unix.Timespec{}, err
		}
		if before(first.Ctim, now.Ctim) {
			return now.Ctim, nil
		}
	}
}

func before(a, b unix.Timespec) bool {
	return a.Sec < b.Sec || a.Sec == b.Sec && a.Nsec < b.Nsec
}

// removeAll removes a tree, including directories that overlayfs created without any permissions.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	parent, err := openDir(unix.AT_FDCWD, filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return removeIn(parent, filepath.Base(dir))
}

// removeIn removes a tree in an open directory. Its paths may be of any length.
func removeIn(parent *os.File, name string) error {
	path := fdPath(parent) + "/" + name
	err := os.RemoveAll(path)
	if errors.Is(err, fs.ErrPermission) {
		unlock(parent, name)
		err = os.RemoveAll(path)
	}
	return err
}

// unlock gives the owner all rights on a directory and all directories in it.
func unlock(parent *os.File, name string) {
	fd, err := openRetry(int(parent.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	unix.Chmod(fdPath(f), 0o700)
	f.Close()
	dir, err := openDirAt(parent, name)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		unlock(dir, n)
	}
}
