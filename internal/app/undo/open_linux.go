package undo

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"

	"golang.org/x/sys/unix"
)

// local reports whether the file system of a directory reports all changes: not one on another machine.
func local(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC,
		unix.F2FS_SUPER_MAGIC, zfsMagic, bcachefsMagic:
		return true
	}
	return false
}

// full reports that there are no more watches.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) }

const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)

// openFiles returns the files in some directories that programs have open which started after Adze; true: they can
// write them through memory, which has no event before the program ends, and doesn't always change the file's time.
func openFiles(since uint64, roots []string) map[string]bool {
	found := map[string]bool{}
	add := func(path string, memory bool) {
		if root, ok := names.Within(path, roots); ok && path != root {
			found[path] = found[path] || memory
		}
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return found
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	own := strconv.Itoa(os.Getpid())
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' || name == own {
			continue
		}
		if began, ok := startTime(name); !ok || began < since {
			continue
		}
		dir := "/proc/" + name
		if fds, err := os.ReadDir(dir + "/fd"); err == nil {
			for _, fd := range fds {
				if path, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil {
					add(path, false)
				}
			}
		}
		mappings(dir+"/maps", func(path string) { add(path, true) })
	}
	return found
}

// mappings visits the files that a program can write through memory.
func mappings(maps string, visit func(path string)) {
	f, err := os.Open(maps)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() { // 7f…-7f… rw-s 00000000 08:01 1234 /path
		line := lines.Bytes()
		i := bytes.IndexByte(line, ' ')
		if i < 0 || len(line) < i+5 || line[i+2] != 'w' || line[i+4] != 's' {
			continue
		}
		if at := bytes.IndexByte(line, '/'); at > 0 {
			visit(strings.ReplaceAll(string(line[at:]), `\012`, "\n"))
		}
	}
}

// ownStart returns when this process started, in ticks.
func ownStart() uint64 {
	began, _ := startTime(strconv.Itoa(os.Getpid()))
	return began
}

// startTime returns when a process started, in ticks.
func startTime(pid string) (uint64, bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	i := bytes.LastIndexByte(stat, ')') // the name before it may contain anything
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return n, err == nil
}
