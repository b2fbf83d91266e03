package sandbox

import (
	"syscall"
	"time"
)

// identify is a path's own identity, links not followed.
func identify(path string) (ID, bool) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return ID{}, false
	}
	return ID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, true
}

// stampOf is a directory's stamp; false if the path is none. It is the time of
// the last change, which unlike that of the last write can't be set.
func stampOf(path string) (stamp, bool) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return stamp{}, false
	}
	return stamp{ID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, time.Unix(st.Ctim.Unix())}, true
}
