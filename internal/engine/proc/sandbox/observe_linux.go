package sandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// An observed sandbox (Spec.Observe) has no mounts: Landlock denies writes, and the listener receives every call that
// would write. It looks at what the call names. Calls in private directories go on to the kernel, where Landlock still
// applies: a path in the caller's memory may change after it was read, so the listener's view reports, and never
// allows. All others get an error from the listener, which records their paths and stops the command.
//
// Landlock has no rights for modes, owners, times and attributes. The listener makes these changes itself, on a
// descriptor that it opened in a private directory, and denies them elsewhere.

// effect is what a call would do.
type effect int

const (
	opens effect = iota // a file for writing
	makes               // a new name
	removes
	moves
	links
	truncates
	binds // a socket, with a new name
	modes
	owners
	times
	attributes
)

// watched is a call that would write.
type watched struct {
	nr   uintptr
	does effect
	// at and path are the indexes of the arguments with a directory and a path. at is -1 for the working directory,
	// path is -1 if at is the descriptor of the file itself. The second path of a call follows, with its directory.
	at, path int
	flags    int // the index of flags such as AT_EMPTY_PATH, or of those of an open; or none, or noFollow
	value    int // the index of the new mode, owner or times
}

const (
	none     = -1
	noFollow = -2 // it changes a link itself
)

// watchedCalls returns the calls that would write.
func watchedCalls() []watched {
	return append([]watched{
		{unix.SYS_OPENAT, opens, 0, 1, 2, 0},
		{unix.SYS_MKDIRAT, makes, 0, 1, none, 0},
		{unix.SYS_MKNODAT, makes, 0, 1, none, 0},
		{unix.SYS_SYMLINKAT, makes, 1, 2, none, 0},
		{unix.SYS_UNLINKAT, removes, 0, 1, none, 0},
		{unix.SYS_RENAMEAT, moves, 0, 1, none, 0},
		{unix.SYS_RENAMEAT2, moves, 0, 1, none, 0},
		{unix.SYS_LINKAT, links, 0, 1, none, 0},
		{unix.SYS_TRUNCATE, truncates, -1, 0, none, 0},
		{unix.SYS_BIND, binds, -1, 1, none, 0},
		{unix.SYS_FCHMOD, modes, 0, -1, none, 1},
		{unix.SYS_FCHMODAT, modes, 0, 1, none, 2},
		{unix.SYS_FCHMODAT2, modes, 0, 1, 3, 2},
		{unix.SYS_FCHOWN, owners, 0, -1, none, 1},
		{unix.SYS_FCHOWNAT, owners, 0, 1, 4, 2},
		{unix.SYS_UTIMENSAT, times, 0, 1, 3, 2},
		{unix.SYS_SETXATTR, attributes, -1, 0, none, 0},
		{unix.SYS_LSETXATTR, attributes, -1, 0, noFollow, 0},
		{unix.SYS_FSETXATTR, attributes, 0, -1, none, 0},
		{unix.SYS_SETXATTRAT, attributes, 0, 1, 2, 0},
		{unix.SYS_REMOVEXATTR, attributes, -1, 0, none, 0},
		{unix.SYS_LREMOVEXATTR, attributes, -1, 0, noFollow, 0},
		{unix.SYS_FREMOVEXATTR, attributes, 0, -1, none, 0},
		{unix.SYS_REMOVEXATTRAT, attributes, 0, 1, 2, 0},
		{unix.SYS_FILE_SETATTR, attributes, 0, 1, 4, 0},
		{unix.SYS_IOCTL, attributes, 0, -1, none, 0}, // see fileIoctls
	}, watchedHere...)
}

// writeFlags are the flags of calls that open a file to write, or create one.
const writeFlags = unix.O_ACCMODE | creates | unix.O_TRUNC

// observed returns the rules for the calls that the listener receives.
func observed() []rule {
	var rules []rule
	for _, c := range watchedCalls() {
		switch {
		case c.nr == unix.SYS_IOCTL:
		case c.does == opens && c.flags >= 0:
			rules = append(rules, rule{nr: c.nr, served: true, test: testMask, arg: c.flags, mask: writeFlags})
		default:
			rules = append(rules, rule{nr: c.nr, served: true})
		}
	}
	for _, r := range metadata() {
		if r.nr == unix.SYS_IOCTL {
			r.served = true
			rules = append(rules, r)
		}
	}
	// Its flags are in memory. Programs that get ENOSYS use openat.
	return append(rules, rule{nr: unix.SYS_OPENAT2, errno: unix.ENOSYS})
}

// judged is the listener's answer.
type judged struct {
	pass    bool       // the kernel goes on
	errno   unix.Errno // otherwise; 0: done
	refused string     // what it would have written; "": nothing
}

func refuse(path string) judged { return judged{errno: unix.EACCES, refused: path} }

// observe answers a call that would write.
func (s served) observe() {
	j := s.judge()
	v := verdict{id: s.id}
	if j.pass {
		v.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	} else {
		v.errno = -int32(j.errno)
	}
	if j.refused != "" && s.valid() { // otherwise the caller was killed, and what was read may be another's
		s.box.refuse(j.refused)
	}
	answer(s.listener, &v)
}

// maxRefused bounds the number of reported paths.
const maxRefused = 16

// refuse records a write that was refused, and stops the command: its output no longer counts.
func (b *Box) refuse(path string) {
	b.mu.Lock()
	first := len(b.refused) == 0
	if !slices.Contains(b.refused, path) && len(b.refused) < maxRefused {
		b.refused = append(b.refused, path)
	}
	b.mu.Unlock()
	if first && b.stop != nil {
		b.stop()
	}
}

// unknownFile is reported if the path of a write can't be read.
const unknownFile = "an unknown file"

func (s served) judge() judged {
	all := watchedCalls()
	i := slices.IndexFunc(all, func(c watched) bool { return c.nr == uintptr(s.nr) })
	if i < 0 {
		return refuse(unknownFile)
	}
	c := all[i]
	if c.does >= modes {
		return s.changes(c)
	}
	path, ok := s.pathArg(c.path)
	if !ok {
		return refuse(unknownFile)
	}
	if c.does == opens {
		return s.opens(c, path)
	}
	if c.does == binds {
		return refuse("a socket")
	}
	f, errno := s.find(s.dirArg(c.at), path, c.does == truncates)
	defer f.close()
	switch {
	case errno == unix.ELOOP && c.does != links:
		return refuse(path)
	case errno != 0 && c.does != links:
		return judged{errno: errno}
	}
	switch c.does {
	case makes:
		if f.exists() {
			return judged{errno: unix.EEXIST}
		}
	case removes, truncates:
		if !f.exists() {
			return judged{errno: unix.ENOENT}
		}
	default:
		return s.second(c, f, errno)
	}
	if f.private || f.harmless() {
		return judged{pass: true}
	}
	return refuse(f.path)
}

// second judges a rename or a link to its second path.
func (s served) second(c watched, from found, errno unix.Errno) judged {
	at, path := -1, c.path+1
	if c.at >= 0 {
		at, path = c.path+1, c.path+2
	}
	name, ok := s.pathArg(path)
	if !ok {
		return refuse(unknownFile)
	}
	to, failed := s.find(s.dirArg(at), name, false)
	defer to.close()
	switch {
	case failed != 0:
		return judged{errno: failed}
	case errno == 0 && !from.exists():
		return judged{errno: unix.ENOENT}
	case c.does == links && to.exists():
		return judged{errno: unix.EEXIST}
	case !to.private:
		return refuse(to.path)
	case c.does == moves && !from.private:
		return refuse(from.path)
	case errno == 0 && !from.private: // as between file systems: programs copy instead
		return judged{errno: unix.EXDEV}
	}
	return judged{pass: true} // a link to a descriptor has no path
}

// descriptor matches paths of the caller's own descriptors.
var descriptor = lazy.Regexp(`^(?:/dev/fd|/proc/(?:self|thread-self|\d+)/fd)/(\d+)$`)

var standard = map[string]string{"/dev/stdin": "/dev/fd/0", "/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}

// ofItself matches settings of the caller itself, which programs such as Java's try to write and do without.
var ofItself = lazy.Regexp(`^/proc/(?:self|thread-self)(?:/task/\d+)?/(?:coredump_filter|comm|timerslack_ns)$`)

// target returns the path of the file that a path names through a descriptor of the caller, or the path itself; "": it
// isn't a file.
func (s served) target(path string) string {
	if other, ok := standard[path]; ok {
		path = other
	}
	m := descriptor().FindStringSubmatch(path)
	if m == nil {
		return path
	}
	target, err := os.Readlink("/proc/" + strconv.Itoa(int(s.pid)) + "/fd/" + m[1])
	if err != nil || !strings.HasPrefix(target, "/") {
		return ""
	}
	return strings.TrimSuffix(target, " (deleted)")
}

// opens judges an open.
func (s served) opens(c watched, path string) judged {
	flags := uint64(unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC) // of creat
	if c.flags >= 0 {
		flags = s.args[c.flags]
	}
	if flags&unix.O_PATH != 0 {
		return judged{pass: true}
	}
	path = s.target(path)
	switch {
	case path == "": // a pipe
		return judged{pass: true}
	case ofItself().MatchString(path):
		return judged{errno: unix.EACCES}
	}
	exclusive := flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	f, errno := s.find(s.dirArg(c.at), path, flags&unix.O_NOFOLLOW == 0 && !exclusive)
	defer f.close()
	kind := f.st.Mode & unix.S_IFMT
	const temporary = unix.O_TMPFILE &^ unix.O_DIRECTORY
	switch {
	case errno == unix.ELOOP:
		return refuse(path)
	case errno != 0:
		return judged{errno: errno}
	case !f.exists() && flags&unix.O_CREAT == 0:
		return judged{errno: unix.ENOENT}
	case f.exists() && exclusive:
		return judged{errno: unix.EEXIST}
	case kind == unix.S_IFDIR && flags&temporary == 0:
		return judged{errno: unix.EISDIR}
	case kind == unix.S_IFLNK:
		return judged{errno: unix.ELOOP}
	case kind == unix.S_IFCHR && f.st.Rdev == unix.Mkdev(5, 0): // /dev/tty: it has no terminal
		return judged{errno: unix.ENXIO}
	case f.private, f.harmless(), f.exists() && flags&(unix.O_ACCMODE|unix.O_TRUNC|temporary) == 0:
		return judged{pass: true}
	}
	return refuse(f.path)
}

// found is what a path of the caller names.
type found struct {
	path    string // with links resolved
	fd      int    // -1: it doesn't exist
	st      unix.Stat_t
	private bool // in a private directory
}

func (f found) exists() bool { return f.fd >= 0 }

func (f found) harmless() bool { return slices.Contains(harmless, f.path) }

func (f found) close() {
	if f.fd >= 0 {
		unix.Close(f.fd)
	}
}

// find opens what a path of the caller names. A file that doesn't exist is no error if its directory does. ELOOP may
// mean that the path leads through a link of /proc to an open file or a directory of a process.
func (s served) find(at int32, path string, follow bool) (found, unix.Errno) {
	flags := uint64(unix.O_PATH)
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := s.openAt(at, path, flags)
	if err == nil {
		return s.foundAt(fd), 0
	}
	none := found{fd: -1}
	if err != unix.ENOENT {
		return none, errnoOf(err)
	}
	dir, name, ok := s.parent(at, path)
	if !ok {
		return none, unix.ENOENT
	}
	defer unix.Close(dir)
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(dir))
	if err != nil {
		return none, unix.ENOENT
	}
	none.path = strings.TrimSuffix(real, "/") + "/" + name
	none.private = holding(real, s.box.writable()) != ""
	var st unix.Stat_t
	if follow && unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil { // a link to somewhere
		none.private = false
	}
	return none, 0
}

// foundAt describes an open file. A file without a name is private: no other process can open it.
func (s served) foundAt(fd int) found {
	f := found{fd: fd}
	f.path, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if unix.Fstat(fd, &f.st) == nil {
		f.private = holding(f.path, s.box.writable()) != "" || f.st.Nlink == 0 && f.st.Mode&unix.S_IFMT == unix.S_IFREG
	}
	return f
}

func errnoOf(err error) unix.Errno {
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EACCES
}

// dirArg returns the directory argument of a call.
func (s served) dirArg(i int) int32 {
	if i < 0 {
		return unix.AT_FDCWD
	}
	return int32(s.args[i])
}

func (s served) pathArg(i int) (string, bool) { return s.text(s.args[i]) }

// changes makes a change of mode, owner or times in a private directory, and denies it elsewhere.
func (s served) changes(c watched) judged {
	f, errno := s.changed(c)
	defer f.close()
	switch {
	case errno == unix.ELOOP:
		return judged{errno: unix.EPERM, refused: f.path}
	case errno != 0:
		return judged{errno: errno}
	case !f.exists():
		return judged{errno: unix.ENOENT}
	}
	value := uint32(s.args[c.value])
	if c.does == modes && f.st.Mode&0o7777 == value&0o7777 || c.does == owners && s.owned(f, c.value) {
		return judged{} // nothing changes
	}
	switch {
	case !strings.HasPrefix(f.path, "/"): // a pipe or a socket
		return judged{errno: unix.EPERM}
	case !f.private:
		return judged{errno: unix.EPERM, refused: f.path}
	case c.does == modes && value&(unix.S_ISUID|unix.S_ISGID) == 0:
		return judged{errno: errnoOrZero(unix.Chmod("/proc/self/fd/"+strconv.Itoa(f.fd), value&0o7777))}
	case c.does == times:
		return judged{errno: s.setTimes(f.fd, s.args[c.value])}
	case c.does == attributes:
		return judged{errno: unix.EOPNOTSUPP}
	}
	return judged{errno: unix.EPERM}
}

func errnoOrZero(err error) unix.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err)
}

// changed returns the file that a call changes.
func (s served) changed(c watched) (found, unix.Errno) {
	flags := uint64(0)
	if c.flags >= 0 {
		flags = s.args[c.flags]
	}
	path, ok := "", true
	if c.path >= 0 && s.args[c.path] != 0 {
		path, ok = s.pathArg(c.path)
	}
	if !ok {
		return found{fd: -1}, unix.EFAULT
	}
	if c.path < 0 || s.args[c.path] == 0 || path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		if int32(s.args[c.at]) == unix.AT_FDCWD {
			return s.find(unix.AT_FDCWD, ".", true)
		}
		fd, err := s.file(s.args[c.at])
		if err != nil {
			return found{fd: -1}, errnoOf(err)
		}
		return s.foundAt(fd), 0
	}
	follow := flags&unix.AT_SYMLINK_NOFOLLOW == 0 && c.flags != noFollow
	if other := s.target(path); follow && other != "" {
		path = other
	}
	f, errno := s.find(s.dirArg(c.at), path, follow)
	if errno != 0 {
		f.path = path
	}
	return f, errno
}

// owned reports whether a file already belongs to the user and the group in the arguments of a call.
func (s served) owned(f found, i int) bool {
	is := func(now uint32, wanted uint64) bool { return uint32(wanted) == now || uint32(wanted) == ^uint32(0) }
	return is(f.st.Uid, s.args[i]) && is(f.st.Gid, s.args[i+1])
}

// setTimes makes a utimensat on a descriptor.
func (s served) setTimes(fd int, pointer uint64) unix.Errno {
	var times [unsafe.Sizeof([2]unix.Timespec{})]byte
	at := unsafe.Pointer(nil)
	if pointer != 0 {
		if s.read(times[:], pointer) != len(times) || !s.valid() {
			return unix.EFAULT
		}
		at = unsafe.Pointer(&times)
	}
	empty := []byte{0}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])), uintptr(at),
		unix.AT_EMPTY_PATH, 0, 0)
	return errno
}
