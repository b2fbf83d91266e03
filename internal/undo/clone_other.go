//go:build !linux

package undo

import (
	"errors"
	"os"
)

// clone is only known on Linux.
func clone(_, _ *os.File) error { return errors.ErrUnsupported }
