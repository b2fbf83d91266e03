//go:build unix

package oauth

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private returns an error if other users can access a file with secrets.
func private(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it is owned by another user (UID %d)", st.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("it is readable by other users (mode %04o)", info.Mode().Perm())
	}
	return nil
}
