//go:build !windows

package undo

import (
	"errors"
	"syscall"
)

// isNotDir reports that a file is where a path needs a directory.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
