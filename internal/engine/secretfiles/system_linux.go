package secretfiles

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

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
