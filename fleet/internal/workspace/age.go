package workspace

import (
	"io/fs"
	"time"
)

// old reports whether a directory was made a while ago.
func old(info fs.FileInfo) bool { return time.Since(info.ModTime()) > time.Minute }
