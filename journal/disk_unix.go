//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow opens a file only if it isn't a link, and doesn't block on a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// movesOpen: a directory can be moved while a file in it is open.
const movesOpen = true

// owner returns the owner of a file, if it isn't the current user.
func owner(info fs.FileInfo) (uid int, foreign bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return int(st.Uid), true
	}
	return 0, false
}

// syncDir makes new names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // not every file system supports it
		return err
	}
	return nil
}
