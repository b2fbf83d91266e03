package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DiskUse returns how much disk space the files in directories use, in bytes. Directories may be nested to any depth.
// The error is about a directory that can't be read.
func DiskUse(dirs []string) (int64, error) {
	u := diskUse{linked: map[ID]bool{}}
	for _, dir := range dirs {
		u.tree(dir)
	}
	return u.bytes, u.err
}

// diskUse adds up disk space.
type diskUse struct {
	bytes  int64
	linked map[ID]bool // hard-linked files, which count once
	err    error
}

// openDirectory is a directory that is being read.
type openDirectory struct {
	fd   int // -1: closed for now
	id   ID
	subs []string // directories in it that weren't read yet
}

// maxOpen is the maximum number of open directories. Those far above are opened again by "..".
const maxOpen = 64

// tree adds a directory with everything in it.
func (u *diskUse) tree(path string) {
	fd, err := unix.Open(path, directoryFlags, 0)
	if err != nil {
		u.failed(err)
		return
	}
	stack := []openDirectory{u.read(fd)}
	defer func() {
		for _, d := range stack {
			if d.fd >= 0 {
				unix.Close(d.fd)
			}
		}
	}()
	for {
		top := &stack[len(stack)-1]
		if n := len(top.subs); n > 0 {
			name := top.subs[n-1]
			top.subs = top.subs[:n-1]
			fd, err := unix.Openat(top.fd, name, directoryFlags, 0)
			if err != nil {
				u.failed(err)
				continue
			}
			stack = append(stack, u.read(fd))
			if i := len(stack) - 1 - maxOpen; i >= 0 && stack[i].fd >= 0 {
				unix.Close(stack[i].fd)
				stack[i].fd = -1
			}
			continue
		}
		if len(stack) == 1 {
			return
		}
		above := &stack[len(stack)-2]
		if above.fd < 0 {
			var st unix.Stat_t
			above.fd, err = unix.Openat(top.fd, "..", directoryFlags, 0)
			if err != nil || unix.Fstat(above.fd, &st) != nil || above.id != (ID{Dev: st.Dev, Ino: st.Ino}) {
				return // it was moved meanwhile: the next count finds it
			}
		}
		unix.Close(top.fd)
		stack = stack[:len(stack)-1]
	}
}

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func (u *diskUse) failed(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		u.err = err
	}
}

// read adds the entries of a directory.
func (u *diskUse) read(fd int) openDirectory {
	var st unix.Stat_t
	unix.Fstat(fd, &st)
	d := openDirectory{fd: fd, id: ID{Dev: st.Dev, Ino: st.Ino}}
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return d
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			u.add(&st)
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				d.subs = append(d.subs, name)
			}
		}
	}
}

// add adds a file.
func (u *diskUse) add(st *unix.Stat_t) {
	if st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink != 1 {
		id := ID{Dev: st.Dev, Ino: st.Ino}
		if u.linked[id] {
			return
		}
		u.linked[id] = true
	}
	u.bytes += st.Blocks * 512
}

// openFiles adds the files that processes have open and that have no name anymore: those on disks, or those in memory.
// It takes the descriptors: a process can close its directory in /proc.
func (u *diskUse) openFiles(processes []int, memory bool) {
	for _, pid := range processes {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		_, after, _ := strings.Cut(string(text), "\nFDSize:")
		line, _, _ := strings.Cut(after, "\n")
		size, _ := strconv.Atoi(strings.TrimSpace(line))
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		for n := range size {
			fd, err := unix.PidfdGetfd(process, n, 0)
			if err == unix.EPERM { // as in Docker's containers
				fd, err = unix.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, n), unix.O_PATH|unix.O_CLOEXEC, 0)
			}
			if err == nil {
				u.openFile(fd, memory)
				unix.Close(fd)
			}
		}
		unix.Close(process)
	}
}

func (u *diskUse) openFile(fd int, memory bool) {
	var st unix.Stat_t
	var system unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0 {
		return
	}
	if unix.Fstatfs(fd, &system) == nil &&
		(uint32(system.Type) == unix.TMPFS_MAGIC || uint32(system.Type) == unix.HUGETLBFS_MAGIC) == memory {
		u.add(&st)
	}
}
