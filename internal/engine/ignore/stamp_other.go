//go:build !unix

package ignore

import (
	"io/fs"
	"runtime"
)

// noFollow isn't supported here: a link named .gitignore is followed.
const noFollow = 0

// caseless means that file names are usually case-insensitive here.
const caseless = runtime.GOOS == "windows"

// inode returns 0: it is unknown here, so only time and size are compared.
func inode(fs.FileInfo) uint64 { return 0 }
