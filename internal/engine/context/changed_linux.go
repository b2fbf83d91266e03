package contextfiles

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns when a file was last changed. A program can't set it, as it can the time of modification.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
