package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxSynced is the maximum number of files that are synced before they are kept, as for an edit. Keeping 1,000 files
// takes 20 ms, and syncing them 100 to 200 ms.
const maxSynced = 16

// sync syncs the files that steps move, if there are few: otherwise a power failure could lose both them and what they
// replaced.
func (k *mover) sync() error {
	var moved []*step
	for i := range k.Steps {
		s := &k.Steps[i]
		if s.Op == opCreate || s.Op == opExchange || s.Op == opInPlace {
			moved = append(moved, s)
		}
	}
	if len(moved) > maxSynced {
		return nil
	}
	for i, s := range moved {
		if !s.Upper.is(unix.S_IFREG) {
			continue
		}
		dir, err := k.upper(s)
		if err != nil {
			return err
		}
		f, err := openAt(dir, filepath.Base(s.Rel), unix.O_RDONLY)
		if err != nil {
			continue // it can't be read
		}
		err = unix.Fdatasync(int(f.Fd()))
		f.Close()
		if err != nil {
			return fmt.Errorf("sync %s: %w", s.Rel, err)
		}
		k.point("synced %d", i)
	}
	return nil
}

// do executes one step, and checks that what it replaced is unchanged since the trial was judged.
func (k *mover) do(i int) error {
	s := &k.Steps[i]
	if s.Op == opMeta {
		return k.setMeta(s, s.Upper, s.Lower)
	}
	name := filepath.Base(s.Rel)
	lower, err := k.lower(s)
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrConflict, err)
	}
	upper, err := k.upper(s)
	if err != nil {
		return err
	}
	switch s.Op {
	case opCreate:
		return conflicting(move(upper, name, lower, name, unix.RENAME_NOREPLACE))
	case opInPlace:
		return k.writeInPlace(i, upper, lower, name)
	case opDelete:
		if err := unix.Unlinkat(int(upper.Fd()), name, 0); err != nil && err != unix.ENOENT { // the whiteout
			return err
		}
		k.point("whiteout %d", i)
		if err := move(lower, name, upper, name, unix.RENAME_NOREPLACE); err != nil {
			return conflicting(err)
		}
	case opExchange:
		if err := move(upper, name, lower, name, unix.RENAME_EXCHANGE); err != nil {
			return conflicting(err)
		}
	}
	k.point("moved %d", i)
	st, ok := statAt(upper, name)
	if !ok || !k.same(s.Lower, st) {
		return ErrConflict
	}
	if s.Lower.dir() {
		return k.untouched(upper, name, k.Layers[s.Layer].Start, true)
	}
	return nil
}

// conflicting returns ErrConflict for an error that a file exists, or doesn't.
func conflicting(err error) error {
	switch err {
	case unix.EEXIST, unix.ENOENT, unix.ENOTDIR:
		return fmt.Errorf("%w (%v)", ErrConflict, err)
	}
	return err
}

// move renames. A directory that isn't writable is made writable temporarily.
func move(from *os.File, a string, to *os.File, b string, flags uint) error {
	err := unix.Renameat2(int(from.Fd()), a, int(to.Fd()), b, flags)
	if err != unix.EACCES {
		return err
	}
	st, ok := statAt(from, a)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o200 != 0 || int(st.Uid) != os.Getuid() {
		return err
	}
	restore, err2 := loosened(from, a)
	if err2 != nil {
		return err
	}
	defer restore()
	return unix.Renameat2(int(from.Fd()), a, int(to.Fd()), b, flags)
}

// saved returns the path of the copy of a file that is written in place.
func (k *mover) saved(i int) string { return filepath.Join(k.dir, "saved-"+strconv.Itoa(i)) }

// writeInPlace writes a file that has other names, after saving it.
func (k *mover) writeInPlace(i int, upper, lower *os.File, name string) error {
	s := &k.Steps[i]
	old, err := openAt(lower, name, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer old.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(old.Fd()), &st); err != nil || !k.same(s.Lower, &st) {
		return ErrConflict
	}
	if err := copyTo(old, k.saved(i)+".new", st.Mode&0o7777); err != nil {
		return err
	}
	unix.UtimesNano(k.saved(i)+".new", []unix.Timespec{s.Lower.Atime, s.Lower.Mtime})
	if err := unix.Fstat(int(old.Fd()), &st); err != nil || !k.same(s.Lower, &st) {
		return ErrConflict
	}
	if err := os.Rename(k.saved(i)+".new", k.saved(i)); err != nil {
		return err
	}
	k.point("saved %d", i)
	content, err := openAt(upper, name, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := overwrite(old, content); err != nil {
		return err
	}
	k.point("written %d", i)
	k.own[st.Ino] = true
	if err := k.setMetaAt(old, lower, name, s.Upper, s.Lower); err != nil {
		return err
	}
	if err := unix.Fstat(int(old.Fd()), &st); err != nil {
		return err
	}
	k.after[i] = seeing(&st)
	return nil
}

// overwrite copies the content of one open file to another.
func overwrite(to, from *os.File) error {
	if _, err := to.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(to, from)
	if err != nil {
		return err
	}
	return to.Truncate(n)
}

// copyTo copies an open file to a path that doesn't exist.
func copyTo(from *os.File, path string, mode uint32) error {
	os.Remove(path)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, from); err == nil {
		err = unix.Fchmod(int(out.Fd()), mode)
	}
	if err == nil { // the original is about to be overwritten
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// setMeta sets the mode, the owner, the times and the attributes of a path of the workspace. It must be the file that
// was seen.
func (k *mover) setMeta(s *step, to, was seen) error {
	parent, name := (*os.File)(nil), "."
	var err error
	if s.Rel == "" {
		parent, err = k.open(dirKey{false, s.Layer, "."})
	} else {
		name = filepath.Base(s.Rel)
		parent, err = k.lower(s)
	}
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrConflict, err)
	}
	fd, err := openRetry(int(parent.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return conflicting(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Ino != s.Lower.Ino {
		return ErrConflict
	}
	// The process may have been killed between two changes of it.
	if !s.Lower.dir() && !k.own[st.Ino] && (st.Size != s.Lower.Size || st.Mtim != s.Lower.Mtime &&
		st.Mtim != s.Upper.Mtime) {
		return ErrConflict
	}
	if err := k.copyMeta(f, s, to); err != nil {
		return err
	}
	if was.Links > 1 && !was.dir() {
		k.own[st.Ino] = true
	}
	return k.setMetaAt(f, parent, name, to, was)
}

// copyMeta copies the attributes that differ.
func (k *mover) copyMeta(f *os.File, s *step, to seen) error {
	if s.NewAttrs == nil && s.OldAttrs == nil || to.is(unix.S_IFLNK) {
		return nil
	}
	want, have := s.NewAttrs, s.OldAttrs
	if to == s.Lower {
		want, have = have, want
	}
	path := fdPath(f)
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Removexattr(path, name); err != nil && err != unix.ENODATA {
				return err
			}
		}
	}
	for name, value := range want {
		if !bytes.Equal(have[name], value) {
			if err := unix.Setxattr(path, name, value, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// setMetaAt sets what differs between two states of an open file: owner, mode and
// times.
func (k *mover) setMetaAt(f, parent *os.File, name string, to, was seen) error {
	if was.UID != to.UID || was.GID != to.GID {
		if err := unix.Fchownat(int(f.Fd()), "", int(to.UID), int(to.GID), unix.AT_EMPTY_PATH); err != nil {
			return err
		}
	}
	if !to.is(unix.S_IFLNK) && (was.Mode != to.Mode || was.UID != to.UID) {
		if err := unix.Chmod(fdPath(f), to.Mode&0o7777); err != nil {
			return err
		}
	}
	if to.dir() || to.Mtime == was.Mtime {
		return nil
	}
	return unix.UtimesNanoAt(int(parent.Fd()), name, []unix.Timespec{to.Atime, to.Mtime}, unix.AT_SYMLINK_NOFOLLOW)
}

// fdPath returns a path to an open file.
func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
