//go:build linux || darwin

package hardlink

import (
	"bytes"
	"io/fs"
	"maps"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxEntries is the maximum number of directory entries that are read. Reading that many takes about 100 ms.
const maxEntries = 200_000

func of(info fs.FileInfo) (ID, uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}, 1
	}
	return ID{uint64(st.Dev), st.Ino}, uint64(st.Nlink)
}

func inside(dirs []string, names map[ID]uint64) map[ID]bool {
	s := &search{missing: maps.Clone(names), seen: map[ID]bool{}, left: maxEntries}
	found := map[ID]bool{}
	for queue := dirs; len(queue) > 0 && len(s.missing) > 0 && s.left > 0; queue = queue[1:] {
		queue = append(queue, s.directory(queue[0])...)
		for id, n := range s.missing {
			if n == 0 {
				found[id] = true
				delete(s.missing, id)
			}
		}
	}
	return found
}

// search is the state of Inside.
type search struct {
	missing map[ID]uint64 // number of names that weren't found yet
	seen    map[ID]bool   // directories: each counts once, even if it is mounted twice
	left    int           // number of entries that may still be read
}

// directory counts the names in a directory, and returns its subdirectories. It compares the inode numbers in the
// entries, which takes less time than a stat of each file.
func (s *search) directory(path string) (below []string) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil
	}
	dev := uint64(st.Dev)
	own := ID{dev, st.Ino}
	if s.seen[own] {
		return nil
	}
	s.seen[own] = true
	buf := make([]byte, 32<<10)
	for s.left > 0 {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return below
		}
		for part := buf[:n]; len(part) > 0; s.left-- {
			e := (*unix.Dirent)(unsafe.Pointer(&part[0]))
			name := part[unsafe.Offsetof(e.Name):e.Reclen]
			name, _, _ = bytes.Cut(name, []byte{0})
			id := ID{dev, e.Ino}
			switch text := string(name); {
			case text == "." || text == ".." || text == ".git":
			case e.Type == unix.DT_DIR || e.Type == unix.DT_UNKNOWN:
				below = append(below, filepath.Join(path, text))
				fallthrough
			case e.Type == unix.DT_REG:
				if s.missing[id] > 0 {
					s.missing[id]--
				}
			}
			part = part[e.Reclen:]
		}
	}
	return below
}
