package sandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// setID makes a call that sets a setuid or a setgid bit, if it is the setgid bit of a directory. The listener changes
// the directory that it opened: the name may mean something else by then.
func (s served) setID() unix.Errno {
	mode := uint32(s.args[1])
	fd, err := -1, error(nil)
	switch uintptr(s.nr) {
	case unix.SYS_FCHMOD:
		fd, err = s.file(s.args[0])
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		mode = uint32(s.args[2])
		flags := uint64(unix.O_PATH)
		if uintptr(s.nr) == unix.SYS_FCHMODAT2 {
			if s.args[3]&^unix.AT_SYMLINK_NOFOLLOW != 0 {
				return unix.EPERM
			}
			if s.args[3] != 0 {
				flags |= unix.O_NOFOLLOW
			}
		}
		fd, err = s.named(int32(s.args[0]), s.args[1], flags)
	default: // chmod
		fd, err = s.named(unix.AT_FDCWD, s.args[0], unix.O_PATH)
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || mode&unix.S_ISUID != 0 {
		s.box.tell(saysSetID)
		return unix.EPERM
	}
	errno, _ := unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode&0o7777).(unix.Errno)
	return errno
}

// named opens the path that an argument points to.
func (s served) named(at int32, pointer, flags uint64) (int, error) {
	path, ok := s.text(pointer)
	if !ok || !s.valid() {
		return -1, unix.EFAULT
	}
	return s.openAt(at, path, flags)
}
