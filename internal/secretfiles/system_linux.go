package secretfiles

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inotify watches directories.
type inotify struct {
	fd     int
	limit  int
	buffer []byte
}

func newWatcher() (watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &inotify{fd: fd, limit: userWatches() / 2}, nil // editors need some too
}

// userWatches returns the maximum number of watches of a user.
func userWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if n, err2 := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && err2 == nil {
		return n
	}
	return 8192 // the default of old kernels
}

func (w *inotify) most() int { return w.limit }

const watched = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF |
	unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

func (w *inotify) add(path string) (int32, error) {
	for {
		wd, err := unix.InotifyAddWatch(w.fd, path, watched)
		if err != unix.EINTR {
			return int32(wd), err
		}
	}
}

func (w *inotify) remove(wd int32) { unix.InotifyRmWatch(w.fd, uint32(wd)) }

func (w *inotify) close() { unix.Close(w.fd) }

// read reads the queued events: the kernel queues a change before the call that made it returns.
func (w *inotify) read(visit func(event)) error {
	if w.buffer == nil {
		w.buffer = make([]byte, 64<<10)
	}
	for {
		n, err := unix.Read(w.fd, w.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return err
		}
		for b := w.buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask := binary.NativeEndian.Uint32(b[4:])
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			visit(event{
				wd: int32(binary.NativeEndian.Uint32(b)), name: string(name), overflow: mask&unix.IN_Q_OVERFLOW != 0,
				arrived: mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 && mask&unix.IN_ISDIR == 0,
				self:    mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT|unix.IN_IGNORED) != 0, ended: mask&unix.IN_IGNORED != 0,
			})
			b = b[end:]
		}
	}
}

// dirReader is an open directory.
type dirReader struct {
	fd     int
	path   string
	buffer []byte
}

func openDir(path string, buffer []byte) (*dirReader, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			return &dirReader{fd, path, buffer}, nil
		}
		if err != unix.EINTR {
			return nil, err
		}
	}
}

func (l *dirReader) close() { unix.Close(l.fd) }

func (l *dirReader) stamp() (stamp, error) {
	var st unix.Stat_t
	err := unix.Fstat(l.fd, &st)
	return newStamp(&st, err)
}

// The layout of struct linux_dirent64.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// each visits the entries until visit returns false.
func (l *dirReader) each(visit func(name string, kind kind) bool) error {
	for {
		n, err := unix.Getdents(l.fd, l.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return err
		}
		for b := l.buffer[:n]; len(b) > direntName; {
			length := binary.NativeEndian.Uint16(b[direntLength:])
			name, _, _ := bytes.Cut(b[direntName:length], []byte{0})
			if text := string(name); text != "." && text != ".." && !visit(text, l.kind(text, b[direntType])) {
				return nil
			}
			b = b[length:]
		}
	}
}

// kind returns the type in an entry, which some file systems don't fill in.
func (l *dirReader) kind(name string, typ byte) kind {
	if typ != unix.DT_UNKNOWN {
		return kindOf(uint32(typ) << 12)
	}
	st, err := lstat(l.path + "/" + name)
	if err != nil {
		return kindOther
	}
	return st.kind
}
