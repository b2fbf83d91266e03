//go:build !unix

package ignore

import (
	"io/fs"
	"runtime"
)

// noFollow is not to be had here: a link named .gitignore is followed.
const noFollow = 0

// caseless says that names differing in case are usually the same file here.
const caseless = runtime.GOOS == "windows"

// inode is not told by the file information of this system; time and size must do.
func inode(fs.FileInfo) uint64 { return 0 }
