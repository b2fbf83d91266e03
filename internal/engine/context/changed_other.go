//go:build !linux

package contextfiles

import (
	"io/fs"
	"time"
)

func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
