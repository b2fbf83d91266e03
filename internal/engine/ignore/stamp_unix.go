//go:build unix

package ignore

import (
	"io/fs"
	"runtime"
	"syscall"
)

// noFollow makes opening a link an error.
const noFollow = syscall.O_NOFOLLOW

// caseless means that file names are usually case-insensitive here.
const caseless = runtime.GOOS == "darwin" || runtime.GOOS == "ios"

func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
