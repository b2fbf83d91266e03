package places

import (
	"io/fs"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

func idOf(st fs.FileInfo) sandbox.ID {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sandbox.ID{Dev: uint64(sys.Dev), Ino: uint64(sys.Ino)}
	}
	return sandbox.ID{}
}

// singleFile reports whether a path is a file without further names.
func singleFile(path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Nlink == 1
}

// stampOf returns a directory's stamp; false if the path isn't a directory. It is the ctime, which unlike the mtime
// can't be set.
func stampOf(path string) (stamp, bool) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return stamp{}, false
	}
	return stamp{sandbox.ID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, time.Unix(st.Ctim.Unix())}, true
}
