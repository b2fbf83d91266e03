package workspace

import (
	"io/fs"
	"time"
)

// old reports whether a directory isn't new.
func old(info fs.FileInfo) bool { return time.Since(info.ModTime()) > time.Minute }
