package search

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) (changed int64, inode uint64, links uint32) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano(), st.Ino, uint32(st.Nlink)
	}
	return 0, 0, 0
}
