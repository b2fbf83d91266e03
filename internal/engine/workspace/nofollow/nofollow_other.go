//go:build !linux

package nofollow

import (
	"io/fs"
	"os"
)

// OpenDir opens a directory for relative access.
func OpenDir(abs string) (*os.Root, error) { return walkDir(abs) }

func openRegular(abs string, flag int) (*os.File, error) { return walkOpen(abs, flag) }

func lstat(abs, dir, base string) (fs.FileInfo, error) { return walkLstat(abs, dir, base) }
